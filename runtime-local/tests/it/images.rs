//! The images of a session that a model is shown.
//!
//! Requirements: A51.

use std::sync::Arc;

use holdover_core::image::{IMAGE_BYTES_MAX, Image, Images};
use holdover_runtime_local::Deliver;

use crate::bench::{agent, completes, runtime, say, store};
use crate::script::{Say, Script};

fn pictures(many: usize) -> Images {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.resize(IMAGE_BYTES_MAX, 0);
    Images::of(vec![Image::new(&png).unwrap(); many]).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a51_a_model_is_shown_no_more_pictures_than_the_bound_lets_through() {
    let model = Script::new(|_| Say::Text("seen"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "look").showing(pictures(3))).await.unwrap()).await;
    runtime.deliver(&key, Deliver::message("and at these").showing(pictures(4))).await.unwrap();
    completes(runtime.resume(&key).await.unwrap()).await;
    let shown: Vec<Vec<usize>> = model
        .asked()
        .iter()
        .map(|request| request.messages.iter().map(|message| message.images().iter().count()).collect())
        .collect();
    assert_eq!(shown, [vec![3], vec![1, 0, 4]], "five of one MiB each");
}
