/* A disk with a bad sector, for one file of one process: what is mapped of it raises SIGBUS, what is
 * read of it fails with EIO.
 *
 * BAD_FILE names the file, BAD_FROM and BAD_TO are the bytes; whole pages are bad in a mapping. With
 * BAD_MAPS_ONLY set, reads succeed: what a file is like that was cut after it was mapped. With
 * BAD_AFTER_SYNC set, all is well until the file was synced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_bad_file(int fd) {
    const char *name = getenv("BAD_FILE");
    struct stat named, opened;
    return name && fd >= 0 && !stat(name, &named) && !fstat(fd, &opened) &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

static off_t bound(const char *name) {
    const char *value = getenv(name);
    return value ? atoll(value) : 0;
}

static int synced;

static int is_good_yet(void) { return getenv("BAD_AFTER_SYNC") && !synced; }

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    synced |= is_bad_file(fd);
    return result;
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real) real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap64");
    char *map = real(address, length, protection, flags, fd, offset);
    if (map == MAP_FAILED || is_good_yet() || !is_bad_file(fd)) return map;
    off_t page = sysconf(_SC_PAGESIZE);
    off_t from = bound("BAD_FROM") / page * page - offset;
    off_t to = (bound("BAD_TO") + page - 1) / page * page - offset;
    if (from < 0) from = 0;
    if (to > (off_t)length) to = (length + page - 1) / page * page;
    if (from >= to) return map;
    int empty = memfd_create("empty", MFD_CLOEXEC);
    real(map + from, to - from, protection, MAP_FIXED | MAP_PRIVATE, empty, 0);
    close(empty);
    return map;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    return mmap64(address, length, protection, flags, fd, offset);
}

ssize_t pread64(int fd, void *buffer, size_t count, off_t offset) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) real = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
    if (getenv("BAD_MAPS_ONLY") || is_good_yet() || !is_bad_file(fd))
        return real(fd, buffer, count, offset);
    off_t from = bound("BAD_FROM"), to = bound("BAD_TO");
    if (offset >= to || offset + (off_t)count <= from) return real(fd, buffer, count, offset);
    if (offset < from) return real(fd, buffer, from - offset, offset);
    errno = EIO;
    return -1;
}

ssize_t pread(int fd, void *buffer, size_t count, off_t offset) {
    return pread64(fd, buffer, count, offset);
}
