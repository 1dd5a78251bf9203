// Ctrl-C, SIGTERM and a terminal that closed. One process, one state: the functions here are the
// only access to it.
#pragma once

namespace modeld::modelctl {

// Such a signal ends the process (Ctrl-C with the exit code for it), but for half-written files.
void exit_on_interrupt();

// For commands that have something to put away first: such a signal is only noted (a second one
// ends the process). interrupted() is then to be asked at least every second.
void note_interrupts();
bool interrupted();

}  // namespace modeld::modelctl
