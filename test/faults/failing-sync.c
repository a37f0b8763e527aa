/* A disk that refuses every sync while the file that FAILING_SYNC names exists: preloaded into a process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int is_refused(void) {
  const char *flag = getenv("FAILING_SYNC");
  if (!flag || access(flag, F_OK) != 0) return 0;
  errno = EIO;
  return 1;
}

int fsync(int file) {
  return is_refused() ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  return is_refused() ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
