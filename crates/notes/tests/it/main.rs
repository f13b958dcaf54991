//! Notes, folders of them, run folders and the guard, with real files.

mod folder;
mod guard;
mod note;
mod run_folder;
