//! Finding keys: the person's, and the log's.
