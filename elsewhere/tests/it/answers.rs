//! Tests of the client: the meaning of answers, and the secrets that errors must not contain.

use std::time::Duration;

use holdover_core::machine::Usage;
use holdover_core::remote::{RemoteTask, TaskOutcome, TaskStanding};
use holdover_elsewhere::BODY_BYTES_MAX;
use holdover_runtime_local::{Elsewhere, ElsewhereError};

use crate::bench::{Parrot, TOKEN, answer, id, task, value_of, wire};

async fn looking(parrot: &Parrot) -> Result<Option<TaskStanding>, ElsewhereError> {
    wire().look(&parrot.remote(), &id("t1")).await
}

async fn telling(parrot: &Parrot) -> Result<(), ElsewhereError> {
    let outcome = TaskOutcome { ok: true, text: "found".into(), usage: Usage::default() };
    let url = format!("{}/outcomes/s3cret-s3cret?k=s3cret", parrot.origin);
    wire().allow_replies_to(&parrot.origin).unwrap().tell(&url, &id("t1"), &outcome).await
}

#[tokio::test]
async fn a_status_says_whether_to_ask_again() {
    for (status, again) in [
        (400, false),
        (401, false),
        (403, false),
        (405, false),
        (409, false),
        (413, false),
        (422, false),
        (408, true),
        (425, true),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (504, true),
    ] {
        let parrot = Parrot::saying(status, "", "").await;
        let remote = parrot.remote();
        let errors = [
            wire().begin(&remote, &task("t1", "north")).await.unwrap_err(),
            wire().look(&remote, &id("t1")).await.unwrap_err(),
            wire().stop(&remote, &id("t1")).await.unwrap_err(),
        ];
        let words = format!("it answered with status {status}");
        assert!(errors.iter().all(|error| error.again == again && error.detail == words), "{errors:?}");
        let error = telling(&parrot).await.unwrap_err();
        assert_eq!(error, ElsewhereError { again, detail: format!("{}: {words}", parrot.origin) });
        assert_eq!(parrot.asked().len(), 4, "each is asked once");
    }
}

#[tokio::test]
async fn what_is_gone_is_an_answer_but_for_a_task_that_is_given() {
    let parrot = Parrot::saying(410, "", "").await;
    assert_eq!(looking(&parrot).await, Ok(None));
    assert_eq!(wire().stop(&parrot.remote(), &id("t1")).await, Ok(()));
    assert_eq!(telling(&parrot).await, Ok(()));
    let error = wire().begin(&parrot.remote(), &task("t1", "north")).await.unwrap_err();
    assert!(!error.again && error.detail.contains("410"), "{error}");
}

#[tokio::test]
async fn nothing_under_the_address_says_nothing_of_a_task() {
    let parrot = Parrot::saying(404, "", "").await;
    let stopping = wire().stop(&parrot.remote(), &id("t1")).await;
    for error in
        [looking(&parrot).await.unwrap_err(), stopping.unwrap_err(), telling(&parrot).await.unwrap_err()]
    {
        assert!(!error.again && error.detail.ends_with("it answered with status 404"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Parrot::saying(200, "", r#"{"task":"open"}"#).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: {}/s3cret\r\n", target.origin);
        let parrot = Parrot::saying(status, &location, "").await;
        let error = looking(&parrot).await.unwrap_err();
        let words = format!("it answered with status {status}, and redirects are not followed");
        assert_eq!(error, ElsewhereError::never(words));
        assert!(telling(&parrot).await.is_err());
        assert!(wire().begin(&parrot.remote(), &task("t1", "north")).await.is_err());
    }
    assert_eq!(target.asked().len(), 0);
}

#[tokio::test]
async fn a_request_may_succeed_after_one_that_failed() {
    let open = answer(200, "", r#"{"task":"open"}"#);
    let parrot = Parrot::new([answer(500, "", "busy"), open]).await;
    assert_eq!(looking(&parrot).await, Err(ElsewhereError::later("it answered with status 500: busy")));
    assert_eq!(looking(&parrot).await, Ok(Some(TaskStanding::Open)));
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_not_whole_may_come_later() {
    let silent = Parrot::new([None]).await;
    let hurried = wire().within(Duration::from_millis(100));
    let (remote, asked) = (silent.remote(), id("t1"));
    let look = tokio::time::timeout(Duration::from_secs(10), hurried.look(&remote, &asked));
    let error = look.await.unwrap().unwrap_err();
    assert_eq!(error, ElsewhereError::later("it was silent"));
    // The connection closes before the whole body has arrived.
    let head = b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{\"task\":\"open\"}".to_vec();
    let cut = Parrot::new([Some(head)]).await;
    assert_eq!(looking(&cut).await, Err(ElsewhereError::later("its answer ended early")));
    let chunk = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nf\r\n{\"task\":\"open\"}\r\n".to_vec();
    let cut = Parrot::new([Some(chunk)]).await;
    assert_eq!(looking(&cut).await, Err(ElsewhereError::later("its answer ended early")));
    let nothing = Parrot::new([Some(Vec::new())]).await;
    assert!(looking(&nothing).await.unwrap_err().again);
    let remote = holdover_core::remote::Remote::new(format!(
        "http://127.0.0.1:{}/tasks",
        holdover_launcher::free_port().unwrap()
    ));
    let error = wire().look(&remote, &id("t1")).await.unwrap_err();
    assert_eq!(error, ElsewhereError::later("it cannot be reached"));
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_longest_length() {
    let padded = |bytes: usize| {
        let body = r#"{"task":"open"}"#;
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let parrot = Parrot::saying(200, "", padded(BODY_BYTES_MAX)).await;
    assert_eq!(looking(&parrot).await, Ok(Some(TaskStanding::Open)));
    let too_long = Err(ElsewhereError::never("its answer is longer than 1048576 bytes"));
    for bytes in [BODY_BYTES_MAX + 1, 2 * BODY_BYTES_MAX] {
        let parrot = Parrot::saying(200, "", padded(bytes)).await;
        assert_eq!(looking(&parrot).await, too_long);
        // Without a `content-length`, the body ends when the connection closes.
        let parrot = Parrot::new([Some(format!("HTTP/1.1 200 X\r\n\r\n{}", padded(bytes)).into())]).await;
        assert_eq!(looking(&parrot).await, too_long);
    }
}

#[tokio::test]
async fn what_is_no_standing_is_quoted_and_final() {
    for body in ["", "[\"open\"]", "{}", "{\"task\":\"maybe\"}", "{\"task\":\"ended\"}", "{\"task\":\"open\""]
    {
        let parrot = Parrot::saying(200, "", body).await;
        let quoted = if body.is_empty() { String::new() } else { format!(": {body}") };
        let detail = format!("its answer is not the standing of a task{quoted}");
        assert_eq!(looking(&parrot).await, Err(ElsewhereError::never(detail)));
    }
}

#[tokio::test]
async fn an_error_quotes_a_detail_or_the_beginning_of_the_body_in_one_line() {
    let said = async |body: &str| {
        let error = looking(&Parrot::saying(400, "", body).await).await.unwrap_err();
        error.detail.strip_prefix("it answered with status 400: ").unwrap().to_owned()
    };
    assert_eq!(
        said(r#"{"type":"about:blank","status":400,"detail":"no\nsuch\tagent"}"#).await,
        "no such agent"
    );
    assert_eq!(said("<h1>\r\n\tBad\u{1b}[31m   request</h1>\0").await, "<h1> Bad [31m request</h1>");
    assert_eq!(said(&"é".repeat(500)).await, "é".repeat(200));
}

#[tokio::test]
async fn an_error_tells_no_secret_also_if_the_other_program_repeats_it() {
    for variable in [TOKEN, "CARGO_MANIFEST_DIR"] {
        let token = value_of(variable);
        let reply_to = "https://here.example/outcomes/s3cret.s3cret";
        let repeats = [
            format!("you sent Bearer {token} and {reply_to}"),
            format!(r#"{{"detail":"you sent Bearer {token} and {reply_to}"}}"#),
            format!(r#"{{"detail":"you sent Bearer {} and {reply_to}"}}"#, token.replace('/', "\\/")),
            format!(r#"{{"sent":"{} {reply_to}"}}"#, token.replace('/', "\\/")),
            // The quoted body is cut in the middle of the token.
            format!("{}{token} s3cret.s3cret", "x".repeat(190)),
        ];
        for body in repeats {
            for status in [200, 400, 500] {
                let parrot = Parrot::saying(status, "", &body).await;
                let given = RemoteTask { reply_to: Some(reply_to.into()), ..task("t1", "north") };
                let error = wire().begin(&parrot.remote().token_env(variable), &given).await.unwrap_err();
                let told = format!("{error} {error:?}").replace("\\\\", "\\").replace("\\/", "/");
                let beginning = &token[..token.len().min(8)];
                assert!(!told.contains(beginning) && !told.contains("s3cret"), "{told}");
                assert!(told.contains('…') || told.contains("xxx"), "it is quoted: {told}");
            }
        }
    }
    let parrot = Parrot::saying(400, "", "POST /outcomes/s3cret-s3cret?k=s3cret is not allowed").await;
    let error = telling(&parrot).await.unwrap_err();
    assert_eq!(error.detail, format!("{}: it answered with status 400", parrot.origin));
    assert!(!format!("{:?}", wire()).contains(&value_of(TOKEN)));
}
