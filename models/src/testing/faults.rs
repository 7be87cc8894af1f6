//! What a server can do wrong, whatever it speaks.

use std::time::{Duration, Instant};

use holdover_core::model::{ModelErrorKind, ModelEvent};

use super::server::{Reply, Then, full, serve};
use super::{Open, answer, ask, check_fails, one_error, request, settings, user};

/// A short silence. What must take longer than this takes far longer.
const STALL: Duration = Duration::from_millis(150);
/// By then every silence has been noticed, on a slow machine too.
pub(crate) const NOTICED: Duration = Duration::from_secs(20);

/// A whole answer in the words of one wire.
pub(crate) struct Wire {
    /// Its beginning up to the text `Gü`, in whole frames.
    pub(crate) begun: String,
    /// The rest of it, with nothing that is heard before the end.
    pub(crate) rest: String,
    /// A frame that could come in between.
    pub(crate) frame: String,
    /// What a page of HTML is that comes as a success.
    pub(crate) page: ModelErrorKind,
    /// What the beginning of a frame is at the end of a body that ends as it should.
    pub(crate) half_frame: ModelErrorKind,
}

/// Every fault, against the adapter that `open` makes.
pub(crate) async fn check(open: Open, wire: &Wire) {
    silence(open, wire).await;
    cuts(open, wire).await;
    garbage(open, wire).await;
    split_reads(open, wire).await;
    no_connection(open).await;
}

fn heard() -> ModelEvent {
    ModelEvent::Text("Gü".to_owned())
}

async fn silence(open: Open, wire: &Wire) {
    let begun = || Reply::stream([&wire.begun]);
    let nothing = || Reply::stream([""]);
    for (what, reply, begun) in [
        ("no head", nothing().then(Then::Never), false),
        ("no byte after the head", nothing().then(Then::Hang), false),
        ("comments only", nothing().then(Then::Repeat(": wait\n\n".to_owned())), false),
        ("silence in the middle", begun().then(Then::Hang), true),
        ("comments in the middle", begun().then(Then::Repeat(": wait\n\n".to_owned())), true),
        ("half a frame", Reply::stream([&wire.begun, &wire.frame[..9]]).then(Then::Hang), true),
    ] {
        let (base_url, serving) = serve(reply).await;
        let mut settings = settings(&base_url);
        settings.stall_timeout = STALL;
        let model = open(settings);
        let began = Instant::now();
        let asked = ask(&*model, request(vec![user("Hello")]));
        let mut events = tokio::time::timeout(NOTICED, asked).await.expect(what);
        let error = events.pop().unwrap().unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Stalled, "{what}: {error}");
        let before = if begun { vec![Ok(heard())] } else { Vec::new() };
        assert_eq!(events, before, "{what}");
        assert_eq!(error.detail.contains("in the middle"), begun, "{what}: {error}");
        assert!((STALL..NOTICED).contains(&began.elapsed()), "{what}: {:?}", began.elapsed());
        // The connection is closed, or the server would wait on.
        serving.await.unwrap();
    }
}

async fn cuts(open: Open, wire: &Wire) {
    use ModelErrorKind::{Incomplete, Network};
    let begun = || Reply::stream([&wire.begun]);
    let halfway = || Reply::stream([&wire.begun, &wire.frame[..wire.frame.len() - 6]]);
    check_fails(open, begun(), &[heard()], Incomplete).await;
    check_fails(open, begun().then(Then::Cut), &[heard()], Incomplete).await;
    check_fails(open, begun().then(Then::Reset), &[heard()], Incomplete).await;
    check_fails(open, halfway().then(Then::Cut), &[heard()], Incomplete).await;
    check_fails(open, halfway(), &[heard()], wire.half_frame).await;
    check_fails(open, Reply::stream([""]).then(Then::Cut), &[], Network).await;
}

async fn garbage(open: Open, wire: &Wire) {
    use ModelErrorKind::{Malformed, Provider};
    let after = |bad: &[u8]| Reply::stream([wire.begun.as_bytes(), bad, wire.rest.as_bytes()]);
    check_fails(open, after(b"data: {\"type\": \n\n"), &[heard()], Malformed).await;
    check_fails(open, after(b"data: <html>\n\n"), &[heard()], Malformed).await;
    check_fails(open, after(b"data: \"\xff\xfe\"\n\n"), &[heard()], Malformed).await;
    let page = "<html>\n<body>Bad gateway</body></html>";
    check_fails(open, Reply::page("text/html", page), &[], wire.page).await;
    let refused = Reply::page("text/html; charset=utf-8", page).status(502);
    let error = check_fails(open, refused, &[], Provider).await;
    assert_eq!(error.detail, "HTTP 502: <html> <body>Bad gateway</body></html>");
}

/// Where the reads end is nobody's business: between any two bytes, with any end of line.
async fn split_reads(open: Open, wire: &Wire) {
    let whole = answer(open, Reply::stream([format!("{}{}", wire.begun, wire.rest)])).await;
    for end_of_line in ["\n", "\r\n"] {
        let text = format!("{}: a comment\n\n{}", wire.begun, wire.rest).replace('\n', end_of_line);
        let bytes = text.as_bytes().chunks(1);
        assert_eq!(answer(open, Reply::stream(bytes)).await, whole, "{end_of_line:?}");
    }
}

async fn no_connection(open: Open) {
    let (base_url, _full) = full().await;
    let mut settings = settings(&base_url);
    settings.connect_timeout = STALL;
    let began = Instant::now();
    let events = ask(&*open(settings), request(vec![user("Hello")])).await;
    one_error(events, &[], ModelErrorKind::Network);
    assert!((STALL..NOTICED).contains(&began.elapsed()), "{:?}", began.elapsed());
}
