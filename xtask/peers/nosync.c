/* Preloaded into the program, this makes every sync succeed without doing anything: what a power cut then loses shows that the
   cut is real. */
#include <sys/types.h>

int fsync(int file) { (void)file; return 0; }
int fdatasync(int file) { (void)file; return 0; }
int syncfs(int file) { (void)file; return 0; }
int msync(void *start, size_t bytes, int flags) { (void)start; (void)bytes; (void)flags; return 0; }
int sync_file_range(int file, off_t start, off_t bytes, unsigned flags) {
    (void)file; (void)start; (void)bytes; (void)flags;
    return 0;
}
