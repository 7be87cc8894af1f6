//! Tests of the faults of a server, for the adapters of all APIs.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::join_all;
use holdover_core::model::{AnswerPart, ModelError, ModelErrorKind, ModelEvent};

use super::server::{Reply, Then, full, serve};
use super::{Open, answer, ask, check_fails, one_error, request, settings, user};
use crate::wire::STREAM_BYTES_MAX;

/// The stall time-out before the answer. Even a busy machine connects and sends the request within this time.
const STALL: Duration = Duration::from_secs(1);
/// The stall time-out in the middle of the answer. Even a busy machine connects and receives the beginning within this
/// time.
const LONG_STALL: Duration = Duration::from_secs(3);
/// The time within which every silence is noticed, even on a slow machine.
pub(crate) const NOTICED: Duration = Duration::from_secs(20);

/// The parts of an answer in the format of one API.
pub(crate) struct Wire {
    /// The beginning up to the text `Gü`, in complete frames.
    pub(crate) begun: String,
    /// The rest of the answer. It adds no text.
    pub(crate) rest: String,
    /// A frame that may come between these two. It holds the text `more`.
    pub(crate) frame: String,
    /// The beginning of a call.
    pub(crate) call: String,
    /// A piece of the arguments of the call.
    pub(crate) piece: String,
}

/// Tests all faults with the adapter that `open` makes.
pub(crate) async fn check(open: Open, wire: &Wire) {
    // These checks wait, so they run in parallel.
    tokio::join!(
        silence(open, wire),
        signs_of_life(open, wire),
        a_hanging_refusal(open),
        no_connection(open),
    );
    cuts(open, wire).await;
    garbage(open, wire).await;
    pages(open).await;
    redirect(open).await;
    split_reads(open, wire).await;
    long_frame(open, wire).await;
    too_much(open).await;
}

fn heard() -> ModelEvent {
    ModelEvent::Text("Gü".to_owned())
}

async fn silence(open: Open, wire: &Wire) {
    let begun = || Reply::stream([&wire.begun]);
    let nothing = || Reply::stream([""]);
    let half = || Reply::stream([&wire.begun, &wire.frame[..9]]);
    // A single line that never ends does not count as progress, even if it keeps growing.
    let endless = Then::Repeat("x".repeat(100));
    let before = [
        silent(open, "no head", nothing().then(Then::Never), STALL),
        silent(open, "no byte after the head", nothing().then(Then::Hang), STALL),
        silent(open, "comments only", nothing().then(Then::Repeat(": wait\n\n".to_owned())), STALL),
    ];
    let middle = [
        silent(open, "silence in the middle", begun().then(Then::Hang), LONG_STALL),
        silent(
            open,
            "comments in the middle",
            begun().then(Then::Repeat(": wait\n\n".to_owned())),
            LONG_STALL,
        ),
        silent(open, "half a frame", half().then(Then::Hang), LONG_STALL),
        silent(open, "an endless frame", half().then(endless), LONG_STALL),
    ];
    let (before, middle) = tokio::join!(join_all(before), join_all(middle));
    for (what, events, error) in before {
        assert_eq!(events, [], "{what}");
        assert!(error.detail.contains("no answer began"), "{what}: {error}");
    }
    for (what, events, error) in middle {
        assert_eq!(events, [Ok(heard())], "{what}");
        assert!(error.detail.contains("in the middle"), "{what}: {error}");
    }
}

type Events = Vec<Result<ModelEvent, ModelError>>;

/// Asks a server that falls silent after `reply`. Returns `what`, the events before the silence was noticed, and its
/// error.
async fn silent(
    open: Open,
    what: &'static str,
    reply: Reply,
    stall: Duration,
) -> (&'static str, Events, ModelError) {
    let (base_url, serving) = serve(reply).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = stall;
    let model = open(settings);
    let began = Instant::now();
    let asked = ask(&*model, request(vec![user("Hello")]));
    let mut events = tokio::time::timeout(NOTICED, asked).await.expect(what);
    let error = events.pop().unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Stalled, "{what}: {error}");
    assert!((stall..NOTICED).contains(&began.elapsed()), "{what}: {:?}", began.elapsed());
    // The client closes the connection. Otherwise, the server would wait forever.
    serving.await.unwrap();
    (what, events, error)
}

/// Tests that a stream does not stall while pieces of a long call come, although these pieces are not shown.
async fn signs_of_life(open: Open, wire: &Wire) {
    let reply = Reply::stream([&wire.begun, &wire.call]).then(Then::Repeat(wire.piece.clone()));
    let (base_url, serving) = serve(reply).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = LONG_STALL;
    let model = open(settings);
    assert_eq!(model.stall_timeout(), Some(LONG_STALL));
    let mut stream = model.stream(request(vec![user("Hello")])).await.unwrap();
    let began = Instant::now();
    let mut signs = 0;
    while began.elapsed() < LONG_STALL * 2 {
        let event = stream.next().await.expect("it goes on").expect("it is heard");
        signs += usize::from(matches!(event, ModelEvent::Wrote(_)));
    }
    assert!(signs > 10, "{signs}");
    drop(stream);
    serving.await.unwrap();
}

async fn cuts(open: Open, wire: &Wire) {
    use ModelErrorKind::{Incomplete, Network};
    let begun = || Reply::stream([&wire.begun]);
    let halfway = || Reply::stream([&wire.begun, &wire.frame[..wire.frame.len() - 6]]);
    check_fails(open, begun(), &[heard()], Incomplete).await;
    check_fails(open, begun().then(Then::Cut), &[heard()], Incomplete).await;
    check_fails(open, begun().then(Then::Reset), &[heard()], Incomplete).await;
    check_fails(open, halfway().then(Then::Cut), &[heard()], Incomplete).await;
    check_fails(open, halfway(), &[heard()], Incomplete).await;
    check_fails(open, Reply::stream([""]).then(Then::Cut), &[], Network).await;
}

async fn garbage(open: Open, wire: &Wire) {
    use ModelErrorKind::Malformed;
    let after = |bad: &[u8]| Reply::stream([wire.begun.as_bytes(), bad, wire.rest.as_bytes()]);
    check_fails(open, after(b"data: {\"type\": \n\n"), &[heard()], Malformed).await;
    check_fails(open, after(b"data: <html>\n\n"), &[heard()], Malformed).await;
    check_fails(open, after(b"data: \"\xff\xfe\"\n\n"), &[heard()], Malformed).await;
}

/// Tests servers that reply with complete bodies instead of a stream.
async fn pages(open: Open) {
    use ModelErrorKind::{Malformed, Provider, Quota};
    let page = "<html>\n<body>Bad gateway</body></html>";
    let error = check_fails(open, Reply::page("text/html", page), &[], Malformed).await;
    assert_eq!(error.detail, "not a stream but text/html: <html> <body>Bad gateway</body></html>");
    let refused = Reply::page("text/html; charset=utf-8", page).status(502);
    let error = check_fails(open, refused, &[], Provider).await;
    assert_eq!(error.detail, "HTTP 502: <html> <body>Bad gateway</body></html>");
    let pay = r#"{"error": {"code": "insufficient_balance", "message": "pay first"}}"#;
    let error = check_fails(open, Reply::page("application/json", pay), &[], Quota).await;
    assert_eq!(error.detail, "HTTP 200: pay first");
    let whole = Reply::page("application/json", r#"{"error": null, "choices": []}"#);
    check_fails(open, whole, &[], Malformed).await;
}

/// Tests that the head of a refusal is enough. The adapter waits for the body only briefly.
async fn a_hanging_refusal(open: Open) {
    let stuck = Reply::stream(["slow"]).status(429).header("retry-after", "7").then(Then::Hang);
    let (base_url, serving) = serve(stuck).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = NOTICED * 10;
    let model = open(settings);
    let asked = ask(&*model, request(vec![user("Hello")]));
    let events = tokio::time::timeout(NOTICED, asked).await.expect("it is not waited for");
    let error = one_error(events, &[], ModelErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    drop(model);
    serving.await.unwrap();
}

async fn redirect(open: Open) {
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = format!("http://{}/v1/messages", elsewhere.local_addr().unwrap());
    let reply = Reply::page("text/plain", "moved").status(307).header("location", &there);
    let (base_url, _serving) = serve(reply).await;
    let mut settings = settings(&base_url);
    settings.stall_timeout = Duration::from_secs(5);
    let events = ask(&*open(settings), request(vec![user("Hello")])).await;
    one_error(events, &[], ModelErrorKind::Refused);
    let asked = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(asked.is_err(), "the transcript and the key would have gone there");
}

/// Tests that the time to read a frame does not grow quadratically with its length.
async fn long_frame(open: Open, wire: &Wire) {
    let (head, tail) = wire.frame.split_once("more").unwrap();
    let text = "x".repeat(8 * 1024 * 1024);
    let frame = format!("{}{head}{text}{tail}{}", wire.begun, wire.rest);
    let began = Instant::now();
    // The frame comes in small pieces, as over a network.
    let answer = answer(open, Reply::stream(frame.as_bytes().chunks(1400))).await;
    assert_eq!(answer.parts, [AnswerPart::Text(format!("Gü{text}"))]);
    assert!(began.elapsed() < NOTICED, "{:?}", began.elapsed());
}

async fn too_much(open: Open) {
    let comment = format!(":{}\n", "x".repeat(4 * 1024 * 1024));
    let error =
        check_fails(open, Reply::stream([""]).then(Then::Repeat(comment)), &[], ModelErrorKind::Malformed)
            .await;
    assert_eq!(error.detail, format!("a stream of more than {STREAM_BYTES_MAX} bytes"));
}

/// Tests that the answer is the same wherever a read ends, and whether lines end with LF or CRLF.
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
