//! What the store keeps, parsed. The store is read again each time, and a payload is parsed once: the checks after every
//! commit would otherwise parse the whole session again and again.

use std::cell::RefCell;
use std::sync::Arc;

use holdover_core::event::Event;
use holdover_core::ids::MessageSeq;
use holdover_core::machine::Machine;
use holdover_core::machine::history::Fold;
use holdover_core::message::Message;
use holdover_core::payload::Payload;
use serde::de::DeserializeOwned;

/// The values of one session, as they were parsed last.
#[derive(Default)]
pub(crate) struct Parsed {
    events: RefCell<List<Event>>,
    messages: RefCell<List<Message>>,
    machine: RefCell<List<Machine>>,
    /// The machine that the history rows of the first events build, and the number of these events.
    fold: RefCell<(Fold, usize)>,
}

/// Parsed values by place, each with the payload from which it was parsed.
struct List<T>(Vec<Option<(Payload, Arc<T>)>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: DeserializeOwned> List<T> {
    /// Returns the value of the payload that is at this place now, and true if the same payload was there before.
    fn at(&mut self, place: usize, payload: &Payload) -> (Arc<T>, bool) {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        let kept = &mut self.0[place];
        if let Some((_, value)) = kept.as_ref().filter(|(before, _)| before == payload) {
            return (value.clone(), true);
        }
        let value: Arc<T> = Arc::new(payload.parse().expect("what was written"));
        *kept = Some((payload.clone(), value.clone()));
        (value, false)
    }
}

impl Parsed {
    /// Returns the machine of a session with this state.
    pub(crate) fn state(&self, state: Option<&Payload>) -> Arc<Machine> {
        state.map(|state| self.machine.borrow_mut().at(0, state).0).unwrap_or_default()
    }

    pub(crate) fn message(&self, seq: MessageSeq, payload: &Payload) -> Arc<Message> {
        self.messages.borrow_mut().at(usize::try_from(seq.0).unwrap(), payload).0
    }

    /// Returns the events with these payloads, which are all events of the session.
    pub(crate) fn events(&self, payloads: &[Payload]) -> Vec<Arc<Event>> {
        let mut list = self.events.borrow_mut();
        let mut as_before = 0;
        let mut events = Vec::with_capacity(payloads.len());
        for (place, payload) in payloads.iter().enumerate() {
            let (event, before) = list.at(place, payload);
            as_before += usize::from(before && as_before == place);
            events.push(event);
        }
        let mut fold = self.fold.borrow_mut();
        if fold.1 > as_before {
            *fold = Default::default();
        }
        events
    }

    /// Returns the machine that the history rows of all these events build. The rows of events that did not change are
    /// not taken again.
    pub(crate) fn rebuilt(&self, events: &[Arc<Event>]) -> Machine {
        let (fold, taken) = &mut *self.fold.borrow_mut();
        for event in &events[*taken..] {
            if let Event::History { rows } = event.as_ref() {
                rows.iter().for_each(|row| fold.take(row).expect("a whole history"));
            }
        }
        *taken = events.len();
        fold.machine().clone()
    }
}
