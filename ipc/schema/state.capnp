# Estimates and monitoring results that the models read.
@0xc60b20eed258589a;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::wire");

struct ExtrinsicsCalibration {  # formerly LiveCalibrationData
  warpMatrix @0 :List(Float32);
  calStatusOld @1 :Int8;
  calCycle @2 :Int32;
  calPerc @3 :Int8;
  extrinsicMatrix @4 :List(Float32);
  warpMatrix2 @5 :List(Float32);
  warpMatrixBig @6 :List(Float32);
  rpyCalib @7 :List(Float32);
  rpyCalibSpread @8 :List(Float32);
  validBlocks @9 :Int32;
  wideFromDeviceEuler @10 :List(Float32);
  calStatus @11 :Status;
  height @12 :List(Float32);

  enum Status {
    uncalibrated @0;
    calibrated @1;
    invalid @2;
    recalibrating @3;
  }
}

struct LateralDelay {  # formerly LiveDelayData
  lateralDelay @0 :Float32;
  validBlocks @1 :Int32;
  status @2 :Status;
  lateralDelayEstimate @3 :Float32;
  points @4 :List(Float32);
  lateralDelayEstimateStd @5 :Float32;
  calPerc @6 :Int8;
  version @7 :Int32;

  enum Status {
    unestimated @0;
    estimated @1;
    invalid @2;
  }
}

struct DriverMonitoringState {
  lockout @0 :Bool;
  alertCountLockoutPercent @1 :Int8;
  alertTimeLockoutPercent @2 :Int8;
  alwaysOn @3 :Bool;
  alwaysOnLockout @4 :Bool;
  alertLevel @5 :AlertLevel;
  activePolicy @6 :MonitoringPolicy;
  isRHD @7 :Bool;
  rhdCalibration @8 :CalibrationState;
  visionPolicyState @9 :VisionPolicyState;
  wheeltouchPolicyState @10 :WheeltouchPolicyState;
  lockoutMinutesRemaining @11 :Int8;
  alert3Count @12 :Int8;
  noResponseCount @13 :Int8;
  noResponseForceDecel @14 :Bool;
  lockoutCount @15 :Int8;

  enum AlertLevel {
    none @0;
    one @1;
    two @2;
    three @3;
  }

  enum MonitoringPolicy {
    wheeltouch @0;
    vision @1;
  }

  struct VisionPolicyState {
    awarenessPercent @0 :Int8;
    awarenessStep @1 :Float32;
    isDistracted @2 :Bool;
    distractedTypes @3 :DistractedTypes;
    faceDetected @4 :Bool;
    pose @5 :Pose;
    wheeltouchFallbackPercent @6 :Int8;
    uncertainOffroadAlertPercent @7 :Int8;

    struct DistractedTypes {
      pose @0 :Bool;
      eye @1 :Bool;
      phone @2 :Bool;
      sleep @3 :Bool;
    }

    struct Pose {
      pitch @0 :Float32;
      yaw @1 :Float32;
      pitchCalib @2 :CalibrationState;
      yawCalib @3 :CalibrationState;
      calibrated @4 :Bool;
      uncertainty @5 :Float32;
    }
  }

  struct WheeltouchPolicyState {
    awarenessPercent @0 :Int8;
    awarenessStep @1 :Float32;
    driverInteracting @2 :Bool;
  }

  struct CalibrationState {
    calibratedPercent @0 :Int8;
    offset @1 :Float32;
  }
}

# The struct that carried the name driverMonitoringState before the one above.
struct DriverMonitoringStateDEPRECATED {
  events @0 :AnyPointer;
  faceDetected @1 :Bool;
  isDistracted @2 :Bool;
  awarenessStatus @3 :Float32;
  isRHD @4 :Bool;
  rhdChecked @5 :Bool;
  posePitchOffset @6 :Float32;
  posePitchValidCount @7 :UInt32;
  poseYawOffset @8 :Float32;
  poseYawValidCount @9 :UInt32;
  stepChange @10 :Float32;
  awarenessActive @11 :Float32;
  awarenessPassive @12 :Float32;
  isLowStd @13 :Bool;
  hiStdCount @14 :UInt32;
  isPreview @15 :Bool;
  isActiveMode @16 :Bool;
  distractedType @17 :UInt32;
  eventsNew @18 :AnyPointer;
  uncertainCount @19 :UInt32;
  phoneProbOffset @20 :Float32;
  phoneProbValidCount @21 :UInt32;
}
