# Camera states and encoder messages. Timestamps are ns of CLOCK_BOOTTIME.
@0xd3f19dea4b198355;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::wire");

struct FrameData {
  frameId @0 :UInt32;
  encodeId @1 :UInt32;
  timestampEof @2 :UInt64;
  frameLength @3 :Int32;
  integLines @4 :Int32;
  globalGain @5 :Int32;
  image @6 :Data;
  frameType @7 :UInt16;
  timestampSof @8 :UInt64;
  androidCaptureResult @9 :AnyPointer;
  transform @10 :List(Float32);
  lensPos @11 :Int32;
  lensSag @12 :Float32;
  lensErr @13 :Float32;
  lensTruePos @14 :Float32;
  gain @15 :Float32;
  focusVal @16 :List(Int16);
  focusConf @17 :List(UInt8);
  sharpnessScore @18 :List(UInt16);
  recoverState @19 :Int32;
  highConversionGain @20 :Bool;
  measuredGreyFraction @21 :Float32;
  targetGreyFraction @22 :Float32;
  processingTime @23 :Float32;
  temperaturesC @24 :List(Float32);
  frameIdSensor @25 :UInt32;
  sensor @26 :ImageSensor;
  exposureValPercent @27 :Float32;
  requestId @28 :UInt32;

  enum ImageSensor {
    unknown @0;
    ar0231 @1;
    ox03c10 @2;
    os04c10 @3;
  }
}

struct EncodeIndex {
  frameId @0 :UInt32;
  type @1 :Type;
  encodeId @2 :UInt32;
  segmentNum @3 :Int32;
  segmentId @4 :UInt32;
  segmentIdEncode @5 :UInt32;
  timestampSof @6 :UInt64;
  timestampEof @7 :UInt64;
  flags @8 :UInt32;
  len @9 :UInt32;

  enum Type {
    bigBoxLossless @0;
    fullHEVC @1;
    bigBoxHEVCDEPRECATED @2;
    chffrAndroidH264DEPRECATED @3;
    fullLosslessClipDEPRECATED @4;
    frontDEPRECATED @5;
    qcameraH264 @6;
    livestreamH264 @7;
  }
}

struct EncodeData {
  idx @0 :EncodeIndex;
  data @1 :Data;
  header @2 :Data;
  unixTimestampNanos @3 :UInt64;
  width @4 :UInt32;
  height @5 :UInt32;
}

struct Thumbnail {
  frameId @0 :UInt32;
  timestampEof @1 :UInt64;
  thumbnail @2 :Data;
  encoding @3 :Encoding;

  enum Encoding {
    unknown @0;
    jpeg @1;
    keyframe @2;
  }
}
