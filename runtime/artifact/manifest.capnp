# The manifest of a model file: contract, program and the hashes of the weights. FORMAT.md says how
# it lies in the file and which values each field may hold. Names of enumerated things (dtypes, ops,
# roles, ...) are stored as text, so that a refusal can say what it found.
@0x9ac80863339cd64c;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::manifest");

struct Manifest {
  contract @0 :Contract;
  program @1 :Program;
  weightBlockHashes @2 :Data;   # SHA-256 of each 32 MiB block of the weights section, in order
}

struct TensorType {
  dtype @0 :Text;
  shape @1 :List(Int64);
}

struct WeightRef {
  offset @0 :UInt64;            # bytes, from the start of the weights section
  length @1 :UInt64;            # bytes
}

struct Program {
  tensors @0 :List(Tensor);
  ops @1 :List(Op);             # in execution order
  inputs @2 :List(UInt32);      # tensor ids
  outputs @3 :List(UInt32);
  states @4 :List(State);

  struct Tensor {
    name @0 :Text;
    type @1 :TensorType;
    weight @2 :WeightRef;       # null: not a constant
  }

  struct Op {
    kind @0 :Text;
    name @1 :Text;
    phase @2 :Text;
    inputs @3 :List(UInt32);    # 0xffffffff: an optional input that is left out
    outputs @4 :List(UInt32);
    attributes @5 :List(Attribute);  # names strictly ascending
  }

  struct Attribute {
    name @0 :Text;
    union {
      integer @1 :Int64;
      real @2 :Float64;
      text @3 :Text;
      integers @4 :List(Int64);
      reals @5 :List(Float64);
    }
  }

  struct State {
    current @0 :UInt32;
    next @1 :UInt32;
    initial @2 :WeightRef;      # null: all zero
  }
}

struct Contract {
  role @0 :Text;
  deviceClasses @1 :List(Text);
  name @2 :Text;
  sourceSha256 @3 :Text;
  opsets @4 :List(Opset);
  compilerVersion @5 :Text;
  checkpoint @6 :Text;
  precision @7 :Text;
  inputs @8 :List(Input);
  outputs @9 :List(Output);
  states @10 :List(State);
  cameras @11 :List(Camera);
  references @12 :List(Reference);
  acceptances @13 :List(Acceptance);

  struct Opset {
    domain @0 :Text;
    version @1 :Int64;
  }

  struct Input {
    name @0 :Text;
    role @1 :Text;
    source @2 :Text;
    type @3 :TensorType;
  }

  struct Output {
    name @0 :Text;
    type @1 :TensorType;
    slices @2 :List(Slice);
  }

  struct Slice {
    name @0 :Text;
    start @1 :Int64;
    stop @2 :Int64;
    minimum @3 :Float64;
    maximum @4 :Float64;
    varies @5 :Bool;
    tolerances @6 :List(Tolerance);
  }

  struct Tolerance {
    deviceClass @0 :Text;
    absolute @1 :Float64;
    relative @2 :Float64;
  }

  struct State {
    name @0 :Text;
    reset @1 :Text;
  }

  struct FrameSize {
    width @0 :UInt32;
    height @1 :UInt32;
  }

  struct Camera {
    frameInput @0 :Text;
    transformInput @1 :Text;
    sizes @2 :List(FrameSize);
    layout @3 :Text;
    outputSize @4 :FrameSize;
    border :union {
      clamp @5 :Void;
      fill @6 :UInt8;
    }
    pixelRange @7 :Text;
    colourMatrix @8 :Text;
  }

  struct Reference {
    seed @0 :UInt64;
    steps @1 :UInt32;
    outputs @2 :List(Data);
  }

  struct Acceptance {
    backend @0 :Text;
    deviceClass @1 :Text;
    device @2 :Text;
    worstMs @3 :Float64;
    unixSeconds @4 :Int64;
  }
}
