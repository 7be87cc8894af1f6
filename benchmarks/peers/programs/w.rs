//! Work W, shared by the compiled peers: the command line, the model and the tool, and the line of results.

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub type Failure = Box<dyn Error>;

const PAYLOAD_BYTES: usize = 200;
/// The step at which a process is killed to measure how a new one resumes.
pub const KILLED_AT: usize = 25;

/// The arguments of one run.
pub struct Work {
    pub mode: String,
    pub store: String,
    pub sessions: usize,
    pub steps: usize,
    model_ms: u64,
}

impl Work {
    /// Reads the command line: `MODE --store URL [--sessions N] [--steps N] [--model-ms N]`.
    pub fn from_arguments() -> Result<Self, Failure> {
        let mut given = std::env::args().skip(1);
        let mode = given.next().ok_or("usage: MODE --store URL [--sessions N] [--steps N] [--model-ms N]")?;
        let mut work = Self { mode, store: String::new(), sessions: 1, steps: 50, model_ms: 0 };
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--store" => work.store = value,
                "--sessions" => work.sessions = value.parse()?,
                "--steps" => work.steps = value.parse()?,
                "--model-ms" => work.model_ms = value.parse()?,
                _ => return Err(format!("{name}: there is no such option").into()),
            }
        }
        Ok(work)
    }

    /// Answers as the model. A process that is to be killed, or timed until its first call, announces each step; in the
    /// call that is waited for, it does not answer.
    pub async fn model(&self, session: &str, step: usize) -> String {
        let last = self.mode == "successor";
        if last || self.mode == "doomed" {
            println!("{}", json!({ "step": step }));
            if last || step >= KILLED_AT {
                std::future::pending::<()>().await;
            }
        }
        if self.model_ms > 0 {
            tokio::time::sleep(Duration::from_millis(self.model_ms)).await;
        }
        payload(session, step, "model")
    }
}

/// Returns 200 ASCII characters, different for each session, step and part.
pub fn payload(session: &str, step: usize, part: &str) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(PAYLOAD_BYTES);
    for block in 0.. {
        let mut hasher = DefaultHasher::new();
        (session, step, part, block).hash(&mut hasher);
        for byte in hasher.finish().to_le_bytes() {
            text.push(char::from(digits[usize::from(byte) % digits.len()]));
        }
        if text.len() >= PAYLOAD_BYTES {
            break;
        }
    }
    text
}

/// Measures the wall time and the CPU time of this process.
pub struct Watch {
    begun: Instant,
    cpu: f64,
}

impl Watch {
    pub fn start() -> Result<Self, Failure> {
        Ok(Self { begun: Instant::now(), cpu: cpu_seconds()? })
    }

    /// Returns the numbers of a run since the start, under the names that every program uses.
    pub fn measured(&self, work: &Work) -> Result<Value, Failure> {
        let (seconds, cpu) = (self.begun.elapsed().as_secs_f64(), cpu_seconds()? - self.cpu);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let (each, all) = (work.steps as f64, (work.steps * work.sessions) as f64);
        Ok(json!({
            "sessions": work.sessions, "steps": work.steps, "model_ms": work.model_ms,
            "seconds": seconds, "steps_per_s": all / seconds, "ms_per_step": seconds * 1000.0 / each,
            "cpu_ms_per_step": cpu * 1000.0 / all,
        }))
    }
}

/// Prints the one line that the driver reads: what `system` says about itself, and the numbers.
pub fn say(mut system: Value, numbers: &Value) {
    if let (Some(line), Some(numbers)) = (system.as_object_mut(), numbers.as_object()) {
        line.extend(numbers.clone());
    }
    println!("{system}");
}

/// Returns the user and system time of this process, from the kernel. A clock tick is 10 ms.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(") ").next().ok_or("no fields")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}
