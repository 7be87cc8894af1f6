//! All cases, by topic.

mod alarm;
mod border;
mod capability;
mod checkpoint;
mod claim;
mod crash;
mod cursor;
mod data;
mod delete;
mod delta;
mod error;
mod event;
mod fair;
mod fence;
mod fork;
mod fork_repeat;
mod hint;
mod inbox;
mod instant;
mod interrupt;
mod kill;
mod lease;
mod limit;
mod list;
mod message;
mod names;
mod owner;
mod page;
mod pending;
mod prelude;
mod prop;
mod race;
mod retention;
mod run;
mod schema;
mod scope;
mod session;
mod staging;
mod status;
mod strain;
mod suspend;
mod tenant;
mod told;
mod width;
mod wire;

use crate::case::Case;

const LISTS: &[&[Case]] = &[
    session::CASES,
    status::CASES,
    run::CASES,
    message::CASES,
    staging::CASES,
    suspend::CASES,
    pending::CASES,
    inbox::CASES,
    fair::CASES,
    interrupt::CASES,
    lease::CASES,
    fence::CASES,
    claim::CASES,
    alarm::CASES,
    event::CASES,
    delta::CASES,
    cursor::CASES,
    checkpoint::CASES,
    fork::CASES,
    fork_repeat::CASES,
    retention::CASES,
    capability::CASES,
    list::CASES,
    page::CASES,
    tenant::CASES,
    delete::CASES,
    data::CASES,
    error::CASES,
    race::CASES,
    strain::CASES,
    crash::CASES,
    kill::CASES,
    prop::CASES,
    wire::CASES,
    schema::CASES,
    owner::CASES,
    border::CASES,
    limit::CASES,
    width::CASES,
    names::CASES,
    instant::CASES,
    hint::CASES,
    scope::CASES,
    told::CASES,
];

/// Every case of the suite.
pub fn all() -> impl Iterator<Item = &'static Case> {
    LISTS.iter().copied().flatten()
}
