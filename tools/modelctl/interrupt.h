// Ctrl-C. One process, one state: the functions here are the only access to it.
#pragma once

namespace modeld::modelctl {

// SIGINT ends the process with the exit code for it.
void exit_on_interrupt();

// For commands that have something to put away first: SIGINT is only noted (a second one ends the
// process). interrupted() is then to be asked at least every second.
void note_interrupts();
bool interrupted();

}  // namespace modeld::modelctl
