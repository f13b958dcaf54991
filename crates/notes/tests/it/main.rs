//! Notes, folders of them, run folders and the guard, with real files.

mod folder;
mod note;
