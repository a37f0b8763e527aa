/* A disk that takes its time for each sync: preloaded into a server, it delays fsync and fdatasync. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void take_time(void) {
  const char *milliseconds = getenv("SLOW_SYNC_MS");
  long delay = milliseconds ? atol(milliseconds) : 0;
  struct timespec time = {delay / 1000, (delay % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

int fsync(int file) {
  take_time();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  take_time();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
