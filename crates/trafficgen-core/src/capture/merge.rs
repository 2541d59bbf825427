//! Several capture files read as one, in order of time.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use super::input::CaptureError;
use super::reader::CaptureFile;
use super::record::Record;

/// Records of several files, merged by time. Each file keeps its own order, as a capture with steps
/// back in time has one.
pub struct MergedReader {
    names: Vec<String>,
    files: Vec<CaptureFile>,
    /// Files with a record at hand, by its time: the first is that of the current record. Of equal
    /// times the file that was named first goes first.
    open: BinaryHeap<Reverse<(i64, usize)>>,
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
                CaptureFile::open_beside(path, paths.len()).map_err(|error| (index, error))?,
            ));
        }
        Ok(Self::new(files))
    }

    /// Merges opened files, given with their names.
    pub fn new(files: Vec<(String, CaptureFile)>) -> Self {
        let (names, files) = files.into_iter().unzip();
        Self { names, files, open: BinaryHeap::new(), current: 0, started: false }
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
            let begun = (0..self.files.len()).filter(|&index| self.files[index].advance());
            let begun: Vec<usize> = begun.collect();
            self.open =
                begun.into_iter().map(|index| Reverse((self.time_ns(index), index))).collect();
        } else if self.files[self.current].advance() {
            let time_ns = self.time_ns(self.current);
            if let Some(mut first) = self.open.peek_mut() {
                first.0 .0 = time_ns;
            }
        } else if let Some(first) = self.open.peek_mut() {
            PeekMut::pop(first);
        }
        let first = self.open.peek();
        self.current = first.map_or(self.current, |&Reverse((_, index))| index);
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
