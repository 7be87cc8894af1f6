//! A handler that Restate repeats with its journal, without a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use holdover_launcher::free_port;
use holdover_runtime_local::{Agents, CancellationToken, Runtime, RuntimeOptions};
use holdover_runtime_restate::{RestateOptions, RestateWorker};

use crate::bench::{memory, until};
use crate::clerk::Desk;

// The types of messages of Restate's service protocol.
const START: u16 = 0x0000;
const ERROR: u16 = 0x0002;
const END: u16 = 0x0003;
const INPUT: u16 = 0x0400;
const OUTPUT: u16 = 0x0401;
const SET_STATE: u16 = 0x0403;
const GET_STATE: u16 = 0x0407;
const SEND: u16 = 0x040E;
const RUN: u16 = 0x0411;
const RUN_COMPLETION: u16 = 0x8011;

/// A field of a message in Protobuf that has a length. All lengths and tags here fit in one byte.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128 && tag < 16);
    [&[tag << 3 | 2, length], content].concat()
}

fn number(tag: u8, number: u8) -> Vec<u8> {
    assert!(number < 128 && tag < 16);
    vec![tag << 3, number]
}

fn message(kind: u16, fields: &[Vec<u8>]) -> Vec<u8> {
    let fields = fields.concat();
    let length = u32::try_from(fields.len()).unwrap();
    [&kind.to_be_bytes(), [0, 0].as_slice(), &length.to_be_bytes(), &fields].concat()
}

/// Returns the type and the text of each message.
fn messages(mut bytes: &[u8]) -> Vec<(u16, String)> {
    let mut messages = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<8>() {
        let length = u32::from_be_bytes(header[4..].try_into().unwrap()).try_into().unwrap();
        let (body, rest) = rest.split_at(length);
        let kind = u16::from_be_bytes(header[..2].try_into().unwrap());
        messages.push((kind, String::from_utf8_lossy(body).into_owned()));
        bytes = rest;
    }
    messages
}

/// Restate was killed after it stored the timer, and before the end of the handler. It compares what the handler writes the
/// second time, and refuses anything else.
#[tokio::test]
async fn a_repeated_handler_writes_what_it_wrote() {
    let agent = Arc::new(Desk::open().clerk().build().unwrap());
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    let runtime = Runtime::new(memory(), Arc::new(Agents::new().with(agent)), options);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
    let options = RestateOptions::default().listen(address);
    let options = options.admin_url(format!("http://127.0.0.1:{}", free_port().unwrap()));
    let worker = RestateWorker::new(runtime, &options).unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });

    let value = |content: &str| field(1, content.as_bytes());
    let get = |key: &str| message(GET_STATE, &[field(1, key.as_bytes()), field(13, &[])]);
    let set = |key: &str, text: &str| message(SET_STATE, &[field(1, key.as_bytes()), field(3, &value(text))]);
    for (report, at_ms) in
        [(r#"{"then":"later","now_ms":10000}"#, 11_000), (r#"{"then":{"at":12345},"now_ms":10000}"#, 12_345)]
    {
        let timer = set("timer", &format!(r#"{{"by":"inv_1","at_ms":{at_ms}}}"#));
        let mut journal = vec![
            message(INPUT, &[field(14, &value("{}"))]),
            get("timer"),
            get("failures"),
            message(RUN, &[number(11, 3), field(12, b"serve")]),
            message(RUN_COMPLETION, &[number(1, 3), field(5, &value(report))]),
        ];
        if at_ms == 11_000 {
            journal.push(set("failures", "1"));
        }
        journal.push(timer);
        let known = u8::try_from(journal.len()).unwrap();
        let start = [field(1, b"1"), field(2, b"inv_1"), number(3, known), field(6, b"acme/42")];
        let body = [message(START, &start), journal.concat()].concat();
        let url = format!("http://{address}/invoke/holdover.clerk/wake");
        let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
        let answer = until(async || {
            let request = client.post(&url).header("content-type", "application/vnd.restate.invocation.v5");
            request.body(body.clone()).send().await.ok()
        })
        .await;
        assert!(answer.status().is_success(), "{answer:?}");
        let written = messages(&answer.bytes().await.unwrap());
        let kinds: Vec<u16> = written.iter().map(|(kind, _)| *kind).collect();
        assert!(!kinds.contains(&ERROR), "{written:?}");
        assert_eq!(kinds, [SEND, OUTPUT, END], "{written:?}");
        assert!(written[0].1.contains(r#"{"timer":"inv_1"}"#), "{written:?}");
    }
    stop.cancel();
    assert_eq!(running.await.unwrap().unwrap(), 0);
}
