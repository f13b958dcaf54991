/* Preloaded into the program, this stops the clock at a moment, so that the answers of two calls can be compared. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    const char *moment = clock == CLOCK_REALTIME ? getenv("ATTACK_CLOCK") : NULL;
    if (moment == NULL) return (int)syscall(SYS_clock_gettime, clock, at);
    long long micros = atoll(moment);
    at->tv_sec = micros / 1000000;
    at->tv_nsec = micros % 1000000 * 1000;
    return 0;
}
