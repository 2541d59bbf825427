//! Several capture files read as one, in order of time.

use std::path::PathBuf;

use super::input::CaptureError;
use super::reader::CaptureFile;
use super::record::Record;

/// Records of several files, merged by time. Each file keeps its own order, as a capture with steps
/// back in time has one.
pub struct MergedReader {
    names: Vec<String>,
    files: Vec<CaptureFile>,
    /// Files with a record at hand.
    open: Vec<usize>,
    current: usize,
    started: bool,
}

impl MergedReader {
    /// Opens all files, in the order given.
    ///
    /// # Errors
    /// The index of the file that cannot be read, and why.
    pub fn open(paths: &[PathBuf]) -> Result<Self, (usize, CaptureError)> {
        let mut files = Vec::with_capacity(paths.len());
        for (index, path) in paths.iter().enumerate() {
            files.push((
                path.display().to_string(),
                CaptureFile::open(path).map_err(|error| (index, error))?,
            ));
        }
        Ok(Self::new(files))
    }

    /// Merges opened files, given with their names.
    pub fn new(files: Vec<(String, CaptureFile)>) -> Self {
        let (names, files) = files.into_iter().unzip();
        Self { names, files, open: Vec::new(), current: 0, started: false }
    }

    /// Moves to the next record of all files; false when all are read.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        if let [file] = self.files.as_mut_slice() {
            return file.advance();
        }
        self.advance_many()
    }

    /// The record that [`Self::advance`] moved to.
    #[inline(always)]
    pub fn record(&self) -> Record<'_> {
        self.files[self.current].record()
    }

    fn advance_many(&mut self) -> bool {
        if !self.started {
            self.started = true;
            self.open =
                (0..self.files.len()).filter(|&index| self.files[index].advance()).collect();
        } else if !self.files[self.current].advance() {
            let current = self.current;
            self.open.retain(|&index| index != current);
        }
        // Equal times: the file that was named first goes first.
        let first = self.open.iter().copied().min_by_key(|&index| (self.time_ns(index), index));
        self.current = first.unwrap_or(self.current);
        first.is_some()
    }

    fn time_ns(&self, index: usize) -> i64 {
        self.files[index].record().time_ns.unwrap_or(i64::MIN)
    }

    /// What was damaged, one line a file.
    pub fn damages(&self) -> Vec<String> {
        let named = self.names.iter().zip(&self.files);
        named
            .filter_map(|(name, file)| file.damage().map(|damage| format!("{name}: {damage}")))
            .collect()
    }

    /// The first file that is not to be read although it goes on, and why.
    pub fn refusal(&self) -> Option<(&str, CaptureError)> {
        let mut named = self.names.iter().zip(&self.files);
        named.find_map(|(name, file)| Some((name.as_str(), file.refusal()?)))
    }

    /// Bytes taken from all files so far, as they lie on disk.
    pub fn consumed_bytes(&self) -> u64 {
        self.files.iter().map(CaptureFile::consumed_bytes).sum()
    }

    /// Length of all files on disk; `None` if one is a pipe.
    pub fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(CaptureFile::total_bytes).sum()
    }
}
