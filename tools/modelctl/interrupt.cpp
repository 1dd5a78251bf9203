#include "tools/modelctl/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "runtime/base/exit_codes.h"
#include "runtime/base/new_file.h"

namespace modeld::modelctl {
namespace {

volatile std::sig_atomic_t noted = 0;

// SIGINT has an exit code of its own; who sent another signal asks the system for it.
void leave(int signal) {
  remove_unfinished_files();
  if (signal == SIGINT) ::_exit(kExitInterrupted);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
}

void note(int signal) {
  if (noted != 0) leave(signal);
  noted = 1;
}

// SIGPIPE is left alone: a reader that has gone ends the program, as everywhere.
void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
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
