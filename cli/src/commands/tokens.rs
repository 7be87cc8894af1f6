//! `tokens`: makes, lists and revokes the tokens of callers.

use holdover_core::time::Timestamp;
use holdover_front::{Caller, May, StoredTokens, TokenError, TokenInfo};
use serde_json::{Value, json};

use crate::args::{Common, CreateToken, RevokeTokens, Tokens};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::{inline, instant, note};
use crate::store::IfMissing;

/// Runs one of the `tokens` commands.
pub(crate) async fn tokens(common: &Common, what: &Tokens) -> Result<Exit, Failure> {
    let if_missing = match what {
        Tokens::Create(_) => IfMissing::Create,
        Tokens::List => IfMissing::AsItIs,
        Tokens::Revoke(_) => IfMissing::Refuse,
    };
    let front = Front::open(common, None, if_missing).await?;
    let tokens = StoredTokens::new(front.runtime.clone());
    let exit = match what {
        Tokens::Create(args) => create(&front, &tokens, args).await?,
        Tokens::List => list(&front, &tokens).await?,
        Tokens::Revoke(args) => revoke(&front, &tokens, args).await?,
    };
    front.close().await;
    Ok(exit)
}

fn failed(error: TokenError) -> Failure {
    let line = error.to_string();
    if matches!(error, TokenError::Name | TokenError::Nothing | TokenError::Reserved | TokenError::Expired) {
        Failure::wrong_use(line)
    } else {
        Failure::failed(line)
    }
}

async fn create(front: &Front, tokens: &StoredTokens, args: &CreateToken) -> Result<Exit, Failure> {
    let caller = Caller::of(front.tenant().clone()).named(&args.name).only(args.may.iter().copied());
    let expires_at = args.expires.map(|expires| expires.instant(front.runtime.now()));
    let (token, made) = tokens.create(caller, expires_at).await.map_err(failed)?;
    let mut object = as_json(&made, front.runtime.now());
    object["token"] = json!(token);
    front.out.object(&object);
    front.out.line(token);
    front.out.passing(front.out.dim(&format!("id {}; the token is not shown again", made.id)));
    Ok(Exit::Completed)
}

async fn list(front: &Front, tokens: &StoredTokens) -> Result<Exit, Failure> {
    let now = front.runtime.now();
    let all = tokens.list(front.tenant()).await.map_err(failed)?;
    for token in &all {
        front.out.object(&as_json(token, now));
        let until = match token.expires_at {
            Some(at) if at <= now => "expired".to_owned(),
            Some(at) => format!("until {}", instant(at)),
            None => "until revoked".to_owned(),
        };
        let name = inline(token.caller.name().unwrap_or_default());
        front.out.line(format!("{}  {name}  {}  {until}", token.id, may(token).join(",")));
    }
    if all.is_empty() {
        front.out.line(front.out.dim("no tokens"));
    }
    Ok(Exit::Completed)
}

async fn revoke(front: &Front, tokens: &StoredTokens, args: &RevokeTokens) -> Result<Exit, Failure> {
    let mut exit = Exit::Completed;
    for id in &args.ids {
        let revoked = tokens.revoke(front.tenant(), id).await.map_err(failed)?;
        front.out.object(&json!({ "id": id, "revoked": revoked }));
        if revoked {
            front.out.line(format!("revoked {}", inline(id)));
        } else {
            note(&format!("error: token {}: there is no such token", inline(id)));
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn may(token: &TokenInfo) -> Vec<&'static str> {
    May::ALL.into_iter().filter(|may| token.caller.may(*may)).map(May::as_str).collect()
}

fn as_json(token: &TokenInfo, now: Timestamp) -> Value {
    json!({
        "id": token.id, "name": token.caller.name(), "may": may(token), "created_at": token.created_at,
        "expires_at": token.expires_at, "expired": token.expires_at.is_some_and(|at| at <= now),
    })
}
