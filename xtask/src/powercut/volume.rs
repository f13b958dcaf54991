//! The file system that is cut: one in an image file, mounted through a loop device, and unmounted
//! on every way out.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{process, sys};

/// A file system whose power can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileSystem {
    Ext4,
    Xfs,
}

/// Tries to unmount, and the pause between them: a process that was just killed may hold the folder
/// a moment longer.
const UNMOUNTS: (u32, Duration) = (100, Duration::from_millis(20));

impl FileSystem {
    pub(super) fn named(name: &str) -> Result<FileSystem, String> {
        match name {
            "ext4" => Ok(FileSystem::Ext4),
            "xfs" => Ok(FileSystem::Xfs),
            other => Err(format!(
                "{other:?} is not a file system that can be stopped here; ext4 and xfs are"
            )),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
        }
    }

    /// The least that its mkfs takes, or enough for a run.
    fn bytes(self) -> u64 {
        match self {
            FileSystem::Ext4 => 256 << 20,
            FileSystem::Xfs => 300 << 20,
        }
    }

    /// The program that makes one, its options, and the package that it is in.
    fn maker(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            FileSystem::Ext4 => ("mkfs.ext4", &["-q", "-F"], "e2fsprogs"),
            FileSystem::Xfs => ("mkfs.xfs", &["-q", "-f"], "xfsprogs"),
        }
    }

    /// Why it cannot be tried here, if it cannot.
    pub(super) fn missing(self) -> Option<String> {
        let (maker, _, package) = self.maker();
        if !cfg!(target_os = "linux") {
            return Some("file systems can be stopped on Linux only".to_owned());
        }
        if !sys::is_root() {
            return Some("mounting needs root".to_owned());
        }
        if !Path::new("/dev/loop-control").exists() {
            return Some("there are no loop devices (/dev/loop-control)".to_owned());
        }
        let wanted = [(maker, package), ("mount", "mount"), ("umount", "mount")];
        let absent = wanted.iter().find(|(tool, _)| !is_installed(tool));
        absent.map(|(tool, package)| {
            format!("{tool} is not installed (apt-get install -y {package})")
        })
    }
}

fn is_installed(tool: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(tool).is_file())
}

/// Makes one, mounts it and cuts it; the error says why that is not possible here.
pub(super) fn probe(file_system: FileSystem, folder: &Path) -> Result<(), String> {
    let mut volume = Volume::new(file_system, folder, "probe")?;
    volume.power()?.cut()?;
    volume.mount_again()
}

/// An image with a file system in it, mounted.
pub(super) struct Volume {
    image: PathBuf,
    folder: PathBuf,
    mounted: bool,
}

/// The handle that the power of a volume is cut with; nothing can be unmounted while it is open.
pub(super) struct Power(File);

impl Power {
    /// Cuts it.
    pub(super) fn cut(self) -> Result<(), String> {
        sys::cut_power(&self.0)
            .map_err(|error| format!("this file system cannot be stopped: {error}"))
    }
}

impl Volume {
    /// Makes an image below `folder` and mounts it.
    pub(super) fn new(
        file_system: FileSystem,
        folder: &Path,
        name: &str,
    ) -> Result<Volume, String> {
        let (image, mount) =
            (folder.join(format!("{name}.img")), folder.join(format!("{name}.mounted")));
        let made = File::create(&image)
            .and_then(|file| file.set_len(file_system.bytes()))
            .and_then(|()| fs::create_dir_all(&mount));
        made.map_err(|error| format!("cannot make {}: {error}", image.display()))?;
        let (maker, options, _) = file_system.maker();
        tool(process::command(maker).args(options).arg(&image))?;
        let mut volume = Volume { image, folder: mount, mounted: false };
        volume.mount()?;
        Ok(volume)
    }

    /// A path on the volume.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The handle to cut the power with.
    pub(super) fn power(&self) -> Result<Power, String> {
        File::open(&self.folder)
            .map(Power)
            .map_err(|error| format!("cannot open {}: {error}", self.folder.display()))
    }

    /// What happens when the power comes back.
    pub(super) fn mount_again(&mut self) -> Result<(), String> {
        self.unmount()?;
        self.mount()
    }

    fn mount(&mut self) -> Result<(), String> {
        tool(process::command("mount").args(["-o", "loop"]).arg(&self.image).arg(&self.folder))?;
        self.mounted = true;
        Ok(())
    }

    /// Unmounting gives the loop device back as well.
    fn unmount(&mut self) -> Result<(), String> {
        let (tries, pause) = UNMOUNTS;
        let mut unmounted = tool(process::command("umount").arg(&self.folder));
        for _ in 1..tries {
            if unmounted.is_ok() {
                break;
            }
            thread::sleep(pause);
            unmounted = tool(process::command("umount").arg(&self.folder));
        }
        self.mounted = unmounted.is_err();
        unmounted
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let unmounted = if self.mounted { self.unmount() } else { Ok(()) };
        if let Err(message) = unmounted {
            eprintln!("cannot unmount {}: {message}", self.folder.display());
        }
    }
}

fn tool(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{name} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_have_names() {
        for name in ["ext4", "xfs"] {
            assert_eq!(FileSystem::named(name).map(FileSystem::name), Ok(name));
        }
        assert!(FileSystem::named("btrfs").is_err());
    }
}
