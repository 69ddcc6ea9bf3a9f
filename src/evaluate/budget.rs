//! The ceiling on what a run may spend: reserved before a question is asked, settled when its answer is there.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::stop::{Stop, TICK};

/// What may be spent, in spend units.
#[derive(Debug)]
pub struct Budget {
    ceiling: Option<f64>,
    state: Mutex<Account>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct Account {
    spent: f64,
    reserved: f64,
    holders: u64,
}

/// A question that there is no budget for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("max-cost {ceiling}: {spent} spent, {needed} needed, {} short", spent + needed - ceiling)]
pub struct Shortfall {
    /// The ceiling.
    pub ceiling: f64,
    /// What is spent.
    pub spent: f64,
    /// What the question may cost.
    pub needed: f64,
}

/// Why nothing was reserved.
#[derive(Debug)]
pub(super) enum Unreserved {
    /// There is not enough left.
    Short(Shortfall),
    /// The run is being stopped.
    Stopped,
}

impl Budget {
    /// A budget with a ceiling (finite and not negative), or without, of which `spent` is spent already.
    pub fn new(ceiling: Option<f64>, spent: f64) -> Self {
        Self { ceiling, state: Mutex::new(Account { spent, ..Account::default() }), settled: Condvar::new() }
    }

    /// The ceiling, if there is one.
    pub fn ceiling(&self) -> Option<f64> {
        self.ceiling
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets `amount` aside. Where what others hold in reserve stands in the way, waits until they settled.
    pub(super) fn reserve(&self, amount: f64, stop: &Stop) -> Result<(), Unreserved> {
        let Some(ceiling) = self.ceiling else { return Ok(()) };
        let mut account = self.account();
        loop {
            if account.spent + account.reserved + amount <= ceiling {
                account.reserved += amount;
                account.holders += 1;
                return Ok(());
            }
            if account.holders == 0 {
                return Err(Unreserved::Short(Shortfall { ceiling, spent: account.spent, needed: amount }));
            }
            if stop.requested() {
                return Err(Unreserved::Stopped);
            }
            let waited = self.settled.wait_timeout(account, TICK);
            account = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives back what was set aside and takes what was spent.
    pub(super) fn settle(&self, reserved: f64, spent: f64) {
        if self.ceiling.is_none() {
            return;
        }
        let mut account = self.account();
        account.holders -= 1;
        // Sums of what comes and goes leave dust behind; nobody holding anything is nothing reserved.
        account.reserved = if account.holders == 0 { 0.0 } else { account.reserved - reserved };
        account.spent += spent;
        drop(account);
        self.settled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn going() -> Stop {
        Stop::new(Arc::new(AtomicBool::new(false)), None)
    }

    #[test]
    fn the_ceiling_is_hard_and_the_shortfall_named() {
        let budget = Budget::new(Some(2.0), 0.5);
        budget.reserve(1.0, &going()).unwrap();
        budget.settle(1.0, 1.0);
        let Err(Unreserved::Short(shortfall)) = budget.reserve(1.0, &going()) else { panic!("beyond the ceiling") };
        assert_eq!(shortfall.to_string(), "max-cost 2: 1.5 spent, 1 needed, 0.5 short");
        budget.reserve(0.5, &going()).unwrap();
    }

    #[test]
    fn a_reservation_waits_for_those_that_may_settle_below_theirs() {
        let budget = Budget::new(Some(1.0), 0.0);
        budget.reserve(1.0, &going()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.reserve(0.75, &going()).is_ok());
            std::thread::sleep(TICK);
            budget.settle(1.0, 0.25);
            assert!(waiting.join().unwrap());
        });
        let stopped = going();
        stopped.request();
        assert!(matches!(budget.reserve(1.0, &stopped), Err(Unreserved::Stopped)));
    }
}
