/* A disk that becomes full, for what one process writes in one folder and below it.
 *
 * FULL_UNDER names the folder; FULL_AFTER_BYTES is how many bytes still fit, FULL_AFTER_SYNCS after
 * how many syncs nothing fits any more. Then writing, growing, and making a file or a folder fail
 * with ENOSPC; what is there can be read, renamed and removed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static long long written;
static int syncs;

static long long limit(const char *name) {
    const char *value = getenv(name);
    return value ? atoll(value) : LLONG_MAX;
}

static int is_below(const char *path) {
    const char *folder = getenv("FULL_UNDER");
    size_t length = folder ? strlen(folder) : 0;
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int is_ours(int fd) {
    char link[64], path[PATH_MAX + 1];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

/* Whether a path that is about to be made lies there. */
static int is_ours_to_be(int folder, const char *path) {
    char above[PATH_MAX + 1], whole[PATH_MAX + 1];
    if (folder != AT_FDCWD && path[0] != '/') return is_ours(folder);
    snprintf(above, sizeof above, "%s", path);
    char *slash = strrchr(above, '/');
    if (slash == above) slash++;
    if (slash) *slash = 0; else strcpy(above, ".");
    return realpath(above, whole) && is_below(whole);
}

static int is_full(void) {
    return written >= limit("FULL_AFTER_BYTES") || syncs >= limit("FULL_AFTER_SYNCS");
}

/* How much of a write fits; -1 with ENOSPC for nothing. */
static ssize_t room(int fd, size_t count) {
    if (!is_ours(fd)) return count;
    if (is_full()) {
        errno = ENOSPC;
        return -1;
    }
    long long left = limit("FULL_AFTER_BYTES") - written;
    size_t fits = (long long)count < left ? count : (size_t)left;
    written += fits;
    return fits;
}

static int refuses_new(int folder, const char *path, int flags) {
    if (!(flags & O_CREAT) || !is_full() || !is_ours_to_be(folder, path)) return 0;
    struct stat found;
    if (!fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW)) return 0;
    errno = ENOSPC;
    return 1;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        REAL(int, #name, const char *, int, ...);                                                  \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        return refuses_new(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode);                  \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...) {                                       \
        REAL(int, #name, int, const char *, int, ...);                                             \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        return refuses_new(folder, path, flags) ? -1 : real(folder, path, flags, mode);            \
    }
OPENAT(openat)
OPENAT(openat64)

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return refuses_new(AT_FDCWD, path, O_CREAT) ? -1 : real(path, mode);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    ssize_t fits = room(fd, count);
    return fits < 0 ? -1 : real(fd, bytes, fits);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (!is_ours(fd)) return real(fd, parts, count);
    return count ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    ssize_t fits = room(fd, count);
    return fits < 0 ? -1 : real(fd, bytes, fits, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite64(fd, bytes, count, offset);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t count,
                        unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    ssize_t fits = room(to, count);
    return fits < 0 ? -1 : real(from, at, to, there, fits, flags);
}

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    REAL(int, "posix_fallocate64", int, off64_t, off64_t);
    return is_ours(fd) && is_full() ? ENOSPC : real(fd, offset, length);
}

static int synced(int fd, int result) {
    syncs += !result && is_ours(fd);
    return result;
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return synced(fd, real(fd));
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return synced(fd, real(fd));
}
