# What a daemon says about itself on its own topic (modeldHealth, dmonitoringmodeldHealth): one
# framed Health, 2 Hz and on every change of state. Ours alone; fields are only ever added.
@0xf7ab31118e6b94c2;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::wire");

struct Health {
  process @0 :Text;
  version @1 :Text;
  boottimeNs @2 :UInt64;         # when this message was made (CLOCK_BOOTTIME)
  startedBoottimeNs @3 :UInt64;  # when the process started

  state @4 :State;
  reason @5 :Reason;
  reasonText @6 :Text;            # one line for people; empty when the reason is none
  changedBoottimeNs @7 :UInt64;   # last change of state or reason
  phase @8 :Text;                 # what start-up is doing now; empty once running

  readiness @9 :Readiness;

  device @10 :Device;
  artifact @11 :Artifact;
  inputMode @12 :InputMode;
  inputModeText @13 :Text;        # how pixels arrive, and why not better
  isolation @14 :Isolation;
  fallback @15 :Fallback;

  frames @16 :Frames;
  drops @17 :List(Counter);       # frames that ended without a message, by reason
  invalids @18 :List(Counter);    # messages published invalid, by reason
  phases @19 :List(Latency);
  deadlineMs @20 :Float32;
  deadlineMisses @21 :UInt64;

  selfTest @22 :SelfTest;
  inputs @23 :List(Input);
  streams @24 :List(Stream);
  executorRestarts @25 :UInt32;   # of the first executor, in the daemon's life

  sensors @27 :List(Sensor);      # temperatures and clocks of the machine, read beside the frames
  sandbox @26 :Sandbox;

  # The fallback, while there is one: what it would run, how often it is run on nothing to stay
  # quick, and what its process takes of one processor (0.05 is 5 %), averaged over seconds.
  fallbackArtifact @28 :Text;
  fallbackWarmHz @29 :Float32;
  fallbackCpuShare @30 :Float32;

  enum State {
    starting @0;
    selfTest @1;
    waitingForFrames @2;
    ok @3;
    degraded @4;
    lagging @5;
    stalled @6;
    faulted @7;
  }

  enum Reason {
    none @0;
    startUp @1;
    noCameraServer @2;       # nobody answers the frame hand-shake
    noSuchStream @3;         # the server has no such camera
    noFrames @4;             # connected, but no notification arrives
    framesLate @5;           # the camera is slow, not us
    notCalibrated @6;
    inputInvalid @7;         # a transform or input vector failed its check
    executionTime @8;        # our computing takes too long
    waitingForCpu @9;
    waitingForDevice @10;
    deadlineMissed @11;
    overrun @12;             # frames overwritten while in use
    unpaired @13;            # the two road cameras do not agree in time
    outputInvalid @14;
    selfTestFailed @15;
    artifactRefused @16;
    artifactUnsigned @17;    # allowed by a development switch
    deviceMissing @18;
    deviceLost @19;
    deviceError @20;
    runningOnFallback @21;
    restarting @22;
    shuttingDown @23;
    configuration @24;
    internal @25;
    sandboxIncomplete @26;   # and configuration allows it
  }

  # unknown is the default on purpose: a check that never ran must not read as passed.
  enum Check {
    unknown @0;
    passed @1;
    failed @2;
    notApplicable @3;
  }

  struct Readiness {
    deviceFound @0 :Check;
    firmwareVerified @1 :Check;
    memoryReady @2 :Check;
    queueReady @3 :Check;
    taskCompleted @4 :Check;
    outputValid @5 :Check;
  }

  struct Device {
    backend @0 :Text;  # reference, cpu, opencl
    name @1 :Text;
    driver @2 :Text;
    driverVersion @3 :Text;
    precision @4 :Text;
    threads @5 :UInt16;
    copyQueue @6 :Bool;
  }

  struct Artifact {
    name @0 :Text;
    digest @1 :Text;  # SHA-256 of the file, lower-case hex
    signed @2 :Bool;
    signer @3 :Text;  # name of the trusted key; empty if unsigned
    path @4 :Text;
  }

  enum InputMode {
    unknown @0;
    hostUpload @1;
    zeroCopyHostPointer @2;
    zeroCopyDmaBuf @3;
  }

  enum Isolation {
    unknown @0;
    inline @1;
    process @2;
  }

  enum Fallback {
    none @0;      # no fallback configured
    warm @1;      # ready, not in use
    cold @2;      # configured, not ready
    active @3;    # answering instead of the primary
  }

  struct Sensor {
    name @0 :Text;
    unit @1 :Text;
    value @2 :Float32;
    known @3 :Bool;               # it was read at least once
    stale @4 :Bool;               # not within the last three seconds
  }

  struct Frames {
    received @0 :UInt64;   # accepted from the stream (pairs count once)
    published @1 :UInt64;
    valid @2 :UInt64;
    invalid @3 :UInt64;
  }

  struct Counter {
    name @0 :Text;
    count @1 :UInt64;
  }

  struct Latency {
    name @0 :Text;
    count @1 :UInt64;
    p50Ms @2 :Float32;
    p90Ms @3 :Float32;
    p99Ms @4 :Float32;
    p999Ms @5 :Float32;
    maxMs @6 :Float32;
  }

  struct SelfTest {
    result @0 :Check;
    text @1 :Text;
    worstError @2 :Float32;      # largest error over its tolerance; above 1 is a failure
    durationMs @3 :Float32;
    finishedBoottimeNs @4 :UInt64;
  }

  # What the process has given up, and what it found when it tried what it must not be able to do.
  struct Sandbox {
    landlockAbi @0 :UInt16;      # 0: files are not confined by the process itself
    files @1 :Check;             # only the files it names
    systemCalls @2 :Check;       # both stages of the filter
    audit @3 :Check;             # everything tried was refused
    findings @4 :List(Finding);
    text @5 :Text;               # what is missing and why; empty when nothing is

    struct Finding {
      name @0 :Text;
      result @1 :Check;          # passed: refused; failed: it worked; notApplicable: not there
      text @2 :Text;             # the system's answer
    }
  }

  # One message input, judged as openpilot judges services: alive = not older than ten periods.
  struct Input {
    topic @0 :Text;
    seen @1 :Bool;
    alive @2 :Bool;
    valid @3 :Bool;
    rateHz @4 :Float32;
    rejected @5 :UInt64;         # messages that did not decode
    # Between 0.8 and 1.2 times the expected rate, averaged over the last ten seconds' worth of
    # messages or the last second's. A service faster than the frames is expected once a frame.
    rate @6 :Check;              # notApplicable: sent when there is something to say
  }

  struct Stream {
    name @0 :Text;               # notification topic
    connected @1 :Bool;
    connects @2 :UInt32;
    buffers @3 :UInt16;
    width @4 :UInt32;
    height @5 :UInt32;
    lastError @6 :Text;
    torn @7 :UInt64;
    skipped @8 :UInt64;          # newer frame taken instead (conflation)
  }
}
