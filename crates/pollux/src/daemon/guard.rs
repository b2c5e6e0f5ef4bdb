//! What is shared between threads is taken here: a thread that panicked while it had something leaves it as it was.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes it, whatever became of the one before.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
