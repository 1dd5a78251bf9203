#include "tools/modelctl/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "runtime/base/exit_codes.h"

namespace modeld::modelctl {
namespace {

volatile std::sig_atomic_t noted = 0;

void leave(int) {
  ::_exit(kExitInterrupted);
}

void note(int) {
  if (noted != 0) ::_exit(kExitInterrupted);
  noted = 1;
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace

void exit_on_interrupt() {
  handle(leave);
}

void note_interrupts() {
  handle(note);
}

bool interrupted() {
  return noted != 0;
}

}  // namespace modeld::modelctl
