// Loaded into a process by LD_PRELOAD. Appends to DISK_LOG all operations of the process on the files below DISK_ROOT,
// in order and with contents, and everything that it writes to its standard output. From that log, recorded-disk.ts
// rebuilds the disk as a power cut leaves it. While the file DISK_FAILS exists, every fsync below DISK_ROOT fails with
// EIO.
//
// A record: op, fd, number (offset, size or flags; 8 bytes), lengths of path, second path and data (4 bytes each, little
// endian), then these three. An operation that failed is not recorded.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { START = 1, OPEN, CLOSE, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, MKDIR, TELL };
enum { FDS = 4096 };

struct record {
  uint32_t op;
  uint32_t fd;
  uint64_t number;
  uint32_t lengths[3];
} __attribute__((packed));

// Allows one operation at a time, so that the records have the order of the operations.
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *root;
static const char *failing;
static int log_fd = -1;
static char followed[FDS];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void record(uint32_t op, int fd, uint64_t number, const char *path, const char *second,
                   const void *data, size_t length) {
  struct record head = {op, (uint32_t)fd, number, {path ? strlen(path) : 0, second ? strlen(second) : 0, length}};
  struct iovec parts[] = {{&head, sizeof head},
                          {(void *)path, head.lengths[0]},
                          {(void *)second, head.lengths[1]},
                          {(void *)data, length}};
  size_t whole = sizeof head + head.lengths[0] + head.lengths[1] + length;
  if (REAL(writev)(log_fd, parts, 4) != (ssize_t)whole) abort();
}

__attribute__((constructor)) static void start(void) {
  root = getenv("DISK_ROOT");
  failing = getenv("DISK_FAILS");
  const char *path = getenv("DISK_LOG");
  if (!root || !path) abort();
  log_fd = fcntl(REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), F_DUPFD_CLOEXEC, FDS);
  if (log_fd < 0) abort();
  record(START, 0, 0, NULL, NULL, NULL, 0);
}

static int is_below(const char *path) {
  size_t length = strlen(root);
  return log_fd >= 0 && path && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int is_followed(int fd) { return log_fd >= 0 && fd >= 0 && fd < FDS && followed[fd]; }

static int opened(int fd, const char *path, int flags) {
  if (fd >= FDS) abort();
  if (fd >= 0) {
    followed[fd] = 1;
    record(OPEN, fd, flags & (O_CREAT | O_TRUNC), path, NULL, NULL, 0);
  }
  return fd;
}

#define OPEN_AS(name)                                             \
  int name(const char *path, int flags, ...) {                    \
    va_list more;                                                 \
    va_start(more, flags);                                        \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                 \
    if (!is_below(path)) return REAL(name)(path, flags, mode);    \
    pthread_mutex_lock(&mutex);                                   \
    int fd = opened(REAL(name)(path, flags, mode), path, flags);  \
    pthread_mutex_unlock(&mutex);                                 \
    return fd;                                                    \
  }
OPEN_AS(open)
OPEN_AS(open64)

int close(int fd) {
  pthread_mutex_lock(&mutex);
  if (is_followed(fd)) {
    followed[fd] = 0;
    record(CLOSE, fd, 0, NULL, NULL, NULL, 0);
  }
  int result = REAL(close)(fd);
  pthread_mutex_unlock(&mutex);
  return result;
}

static void wrote(int fd, off_t at, const void *data, ssize_t length) {
  int error = errno;
  if (length > 0) record(WRITE, fd, at, NULL, NULL, data, length);
  errno = error;
}

#define PWRITE_AS(name, offset)                                             \
  ssize_t name(int fd, const void *data, size_t length, offset at) {        \
    if (!is_followed(fd)) return REAL(name)(fd, data, length, at);          \
    pthread_mutex_lock(&mutex);                                             \
    ssize_t done = REAL(name)(fd, data, length, at);                        \
    wrote(fd, at, data, done);                                              \
    pthread_mutex_unlock(&mutex);                                           \
    return done;                                                            \
  }
PWRITE_AS(pwrite, off_t)
PWRITE_AS(pwrite64, off64_t)

static off_t position(int fd) {
  struct stat now;
  if (fcntl(fd, F_GETFL) & O_APPEND) return fstat(fd, &now) ? 0 : now.st_size;
  return lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t length) {
  if (fd != STDOUT_FILENO && !is_followed(fd)) return REAL(write)(fd, data, length);
  pthread_mutex_lock(&mutex);
  off_t at = fd == STDOUT_FILENO ? 0 : position(fd);
  if (fd == STDOUT_FILENO && log_fd >= 0) record(TELL, fd, 0, NULL, NULL, data, length);
  ssize_t done = REAL(write)(fd, data, length);
  if (fd != STDOUT_FILENO) wrote(fd, at, data, done);
  pthread_mutex_unlock(&mutex);
  return done;
}

// Aborts if this call is used on these files: the record would be incomplete.
ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (is_followed(fd)) abort();
  return REAL(writev)(fd, parts, count);
}

#define SYNC_AS(name)                                   \
  int name(int fd) {                                    \
    if (!is_followed(fd)) return REAL(name)(fd);        \
    pthread_mutex_lock(&mutex);                         \
    int result = -1;                                    \
    if (failing && access(failing, F_OK) == 0) {        \
      errno = EIO;                                      \
    } else {                                            \
      result = REAL(name)(fd);                          \
      errno = 0;                                        \
      if (result == 0) record(SYNC, fd, 0, NULL, NULL, NULL, 0); \
    }                                                   \
    pthread_mutex_unlock(&mutex);                       \
    return result;                                      \
  }
SYNC_AS(fsync)
SYNC_AS(fdatasync)

#define TRUNCATE_AS(name, offset)                                              \
  int name(int fd, offset size) {                                              \
    if (!is_followed(fd)) return REAL(name)(fd, size);                         \
    pthread_mutex_lock(&mutex);                                                \
    int result = REAL(name)(fd, size);                                         \
    if (result == 0) record(TRUNCATE, fd, size, NULL, NULL, NULL, 0);          \
    pthread_mutex_unlock(&mutex);                                              \
    return result;                                                             \
  }
TRUNCATE_AS(ftruncate, off_t)
TRUNCATE_AS(ftruncate64, off64_t)

static int named(uint32_t op, int result, const char *path, const char *second) {
  int error = errno;
  if (result == 0) record(op, 0, 0, path, second, NULL, 0);
  errno = error;
  return result;
}

int rename(const char *from, const char *to) {
  if (!is_below(from) && !is_below(to)) return REAL(rename)(from, to);
  pthread_mutex_lock(&mutex);
  int result = named(RENAME, REAL(rename)(from, to), from, to);
  pthread_mutex_unlock(&mutex);
  return result;
}

#define UNLINK_AS(name)                                          \
  int name(const char *path) {                                   \
    if (!is_below(path)) return REAL(name)(path);                \
    pthread_mutex_lock(&mutex);                                  \
    int result = named(UNLINK, REAL(name)(path), path, NULL);    \
    pthread_mutex_unlock(&mutex);                                \
    return result;                                               \
  }
UNLINK_AS(unlink)
UNLINK_AS(remove)

int unlinkat(int folder, const char *path, int flags) {
  if (!is_below(path)) return REAL(unlinkat)(folder, path, flags);
  pthread_mutex_lock(&mutex);
  int result = named(UNLINK, REAL(unlinkat)(folder, path, flags), path, NULL);
  pthread_mutex_unlock(&mutex);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  if (!is_below(path)) return REAL(mkdir)(path, mode);
  pthread_mutex_lock(&mutex);
  int result = named(MKDIR, REAL(mkdir)(path, mode), path, NULL);
  pthread_mutex_unlock(&mutex);
  return result;
}
