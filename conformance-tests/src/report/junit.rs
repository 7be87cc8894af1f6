//! The report for build servers: JUnit XML, with a suite for each category.

use std::io;

use quick_xml::Writer;
use quick_xml::events::BytesText;

use super::{CaseReport, Counts, Report};
use crate::status::Status;

type Xml = Writer<Vec<u8>>;

impl Report {
    /// Returns the report as JUnit XML. Characters that XML cannot hold, and control characters except tab and line
    /// feed, are escaped as `\u{…}`.
    pub fn junit(&self) -> String {
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        // Writing to memory does not fail.
        let written = self.write(&mut xml);
        debug_assert!(written.is_ok(), "{written:?}");
        let body = String::from_utf8(xml.into_inner()).unwrap_or_default();
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}\n")
    }

    fn write(&self, xml: &mut Xml) -> io::Result<()> {
        let counts = Counts::of(&self.cases);
        let root = xml.create_element("testsuites").with_attributes(
            attributes([
                ("name", format!("holdover conformance: {}", self.tested())),
                ("tests", counts.all().to_string()),
                ("failures", counts.failed.to_string()),
                ("skipped", counts.skipped.to_string()),
                ("time", seconds(self.milliseconds)),
            ])
            .iter()
            .map(pair),
        );
        root.write_inner_content(|xml| {
            self.categories()
                .into_iter()
                .try_for_each(|(category, cases)| self.write_suite(xml, category, &cases))
        })?;
        Ok(())
    }

    fn write_suite(&self, xml: &mut Xml, category: &str, cases: &[&CaseReport]) -> io::Result<()> {
        let counts = Counts::of(cases.iter().copied());
        let took = cases.iter().map(|case| case.milliseconds).sum();
        let suite = xml.create_element("testsuite").with_attributes(
            attributes([
                ("name", category.to_owned()),
                ("tests", counts.all().to_string()),
                ("failures", counts.failed.to_string()),
                ("skipped", counts.skipped.to_string()),
                ("time", seconds(took)),
            ])
            .iter()
            .map(pair),
        );
        suite.write_inner_content(|xml| {
            self.write_properties(xml)?;
            cases.iter().try_for_each(|case| self.write_case(xml, case))
        })?;
        Ok(())
    }

    fn write_properties(&self, xml: &mut Xml) -> io::Result<()> {
        let properties = [
            ("suite", self.suite.clone()),
            ("seed", self.settings.seed.to_string()),
            ("scripts", self.settings.scripts.to_string()),
            ("kills", self.settings.kills.to_string()),
            ("level", self.level.to_string()),
            ("verdict", self.verdict.to_string()),
            ("stopped", self.stopped.clone().unwrap_or_default()),
        ];
        xml.create_element("properties").write_inner_content(|xml| {
            properties.iter().try_for_each(|(name, value)| {
                let attributes = [("name", *name), ("value", value.as_str())];
                xml.create_element("property").with_attributes(attributes).write_empty().map(drop)
            })
        })?;
        Ok(())
    }

    fn write_case(&self, xml: &mut Xml, case: &CaseReport) -> io::Result<()> {
        let element = xml.create_element("testcase").with_attributes(
            attributes([
                ("classname", format!("{}.{}", self.store.name, case.category())),
                ("name", case.id.clone()),
                ("time", seconds(case.milliseconds)),
            ])
            .iter()
            .map(pair),
        );
        match case.status {
            Status::Passed => element.write_empty()?,
            Status::Skipped => element.write_inner_content(|xml| {
                let message = legible(case.skipped.as_deref().unwrap_or_default());
                xml.create_element("skipped").with_attribute(("message", message.as_str())).write_empty()?;
                Ok(())
            })?,
            Status::Failed | Status::Flaky | Status::NotImplemented => {
                element.write_inner_content(|xml| {
                    let (message, text) = (legible(&case.title), legible(&case.in_full()));
                    let failure = xml
                        .create_element("failure")
                        .with_attributes([("type", case.status.as_str()), ("message", message.as_str())]);
                    failure.write_text_content(BytesText::new(&text))?;
                    Ok(())
                })?
            }
        };
        Ok(())
    }
}

fn attributes<const N: usize>(attributes: [(&'static str, String); N]) -> [(&'static str, String); N] {
    attributes.map(|(name, value)| (name, legible(&value)))
}

fn pair<'a>((name, value): &'a (&'static str, String)) -> (&'a str, &'a str) {
    (name, value)
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}

/// Escapes characters that XML 1.0 cannot hold, and control characters except tab and line feed, in the notation of
/// Rust.
fn legible(text: &str) -> String {
    let holds = |c: char| {
        matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
            && !c.is_control()
            || matches!(c, '\t' | '\n')
    };
    let mut legible = String::with_capacity(text.len());
    for c in text.chars() {
        if holds(c) { legible.push(c) } else { legible.extend(c.escape_unicode()) }
    }
    legible
}
