//! Gives every claim of its class a directory and a PersistentVolume, and takes them back.
