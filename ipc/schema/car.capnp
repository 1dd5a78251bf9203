# The car: measured state, commands (read only), parameters. Members without a use here are
# reserved with the size and kind that keep the others in place.
@0x9b3223d54618e645;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::wire");

struct CarState {
  errors @0 :List(UInt16);
  vEgo @1 :Float32;
  wheelSpeeds @2 :WheelSpeeds;
  gas @3 :Float32;
  gasPressed @4 :Bool;
  brake @5 :Float32;
  brakePressed @6 :Bool;
  steeringAngleDeg @7 :Float32;
  steeringTorque @8 :Float32;
  steeringPressed @9 :Bool;
  cruiseState @10 :CruiseState;
  buttonEvents @11 :AnyPointer;
  canMonoTimes @12 :List(UInt64);
  events @13 :AnyPointer;
  gearShifter @14 :GearShifter;
  steeringRateDeg @15 :Float32;
  aEgo @16 :Float32;
  vEgoRaw @17 :Float32;
  standstill @18 :Bool;
  brakeLights @19 :Bool;
  leftBlinker @20 :Bool;
  rightBlinker @21 :Bool;
  yawRate @22 :Float32;
  genericToggle @23 :Bool;
  doorOpen @24 :Bool;
  seatbeltUnlatched @25 :Bool;
  canValid @26 :Bool;
  steeringTorqueEps @27 :Float32;
  clutchPressed @28 :Bool;
  steeringRateLimited @29 :Bool;
  stockAeb @30 :Bool;
  stockFcw @31 :Bool;
  espDisabled @32 :Bool;
  leftBlindspot @33 :Bool;
  rightBlindspot @34 :Bool;
  steerFaultTemporary @35 :Bool;
  steerFaultPermanent @36 :Bool;
  steeringAngleOffsetDeg @37 :Float32;
  brakeHoldActive @38 :Bool;
  parkingBrake @39 :Bool;
  canTimeout @40 :Bool;
  fuelGauge @41 :Float32;
  accFaulted @42 :Bool;
  charging @43 :Bool;
  vEgoCluster @44 :Float32;
  regenBraking @45 :Bool;
  engineRpm @46 :Float32;
  carFaultedNonCritical @47 :Bool;
  canErrorCounter @48 :UInt32;
  canRcvTimeout @49 :Bool;
  cumLagMs @50 :Float32;
  espActive @51 :Bool;
  vehicleSensorsInvalid @52 :Bool;
  vCruise @53 :Float32;
  vCruiseCluster @54 :Float32;
  invalidLkasSetting @55 :Bool;
  lowSpeedAlert @56 :Bool;
  buttonEnable @57 :Bool;
  steeringDisengage @58 :Bool;
  stockLkas @59 :Bool;
  blockPcmEnable @60 :Bool;
  carNotReady @61 :Bool;

  struct WheelSpeeds {  # m/s
    fl @0 :Float32;
    fr @1 :Float32;
    rl @2 :Float32;
    rr @3 :Float32;
  }

  struct CruiseState {
    enabled @0 :Bool;
    speed @1 :Float32;
    available @2 :Bool;
    speedOffset @3 :Float32;
    standstill @4 :Bool;
    nonAdaptive @5 :Bool;
    speedCluster @6 :Float32;
  }

  enum GearShifter {
    unknown @0;
    park @1;
    drive @2;
    neutral @3;
    reverse @4;
    sport @5;
    low @6;
    brake @7;
    eco @8;
    manumatic @9;
  }
}

struct CarControl {
  enabled @0 :Bool;
  gas @1 :Float32;
  brake @2 :Float32;
  steeringTorque @3 :Float32;
  cruiseControl @4 :AnyPointer;
  hudControl @5 :AnyPointer;
  actuators @6 :Actuators;
  active @7 :Bool;
  roll @8 :Float32;
  pitch @9 :Float32;
  actuatorsOutput @10 :Actuators;
  latActive @11 :Bool;
  longActive @12 :Bool;
  orientationNED @13 :List(Float32);
  angularVelocity @14 :List(Float32);
  leftBlinker @15 :Bool;
  rightBlinker @16 :Bool;
  currentCurvature @17 :Float32;
  driverMonitoringEscalation @18 :Bool;

  struct Actuators {
    gas @0 :Float32;
    brake @1 :Float32;
    torque @2 :Float32;
    steeringAngleDeg @3 :Float32;
    accel @4 :Float32;
    longControlState @5 :UInt16;
    speed @6 :Float32;
    curvature @7 :Float32;
    torqueOutputCan @8 :Float32;
  }
}

struct CarParams {
  brand @0 :Text;
  carFingerprint @1 :Text;
  reserved2 @2 :Bool;
  reserved3 @3 :Bool;
  reserved4 @4 :Bool;
  reserved5 @5 :Bool;
  reserved6 @6 :Bool;
  minEnableSpeed @7 :Float32;
  minSteerSpeed @8 :Float32;
  reserved9 @9 :UInt16;
  reserved10 @10 :Int16;
  reserved11 @11 :AnyPointer;
  reserved12 @12 :AnyPointer;
  reserved13 @13 :AnyPointer;
  reserved14 @14 :AnyPointer;
  reserved15 @15 :AnyPointer;
  reserved16 @16 :AnyPointer;
  mass @17 :Float32;
  wheelbase @18 :Float32;
  centerToFront @19 :Float32;
  steerRatio @20 :Float32;
  steerRatioRear @21 :Float32;
  rotationalInertia @22 :Float32;
  tireStiffnessFront @23 :Float32;
  tireStiffnessRear @24 :Float32;
  reserved25 @25 :AnyPointer;
  lateralTuning :union {
    reserved26 @26 :AnyPointer;
    reserved27 @27 :AnyPointer;
    reserved40 @40 :AnyPointer;
    reserved67 @67 :AnyPointer;
  }
  reserved28 @28 :Bool;
  vEgoStopping @29 :Float32;
  reserved30 @30 :Bool;
  reserved31 @31 :Bool;
  reserved32 @32 :Float32;
  reserved33 @33 :Float32;
  reserved34 @34 :UInt16;
  radarUnavailable @35 :Bool;
  steerActuatorDelay @36 :Float32;
  openpilotLongitudinalControl @37 :Bool;
  carVin @38 :Text;
  reserved39 @39 :Bool;
  dashcamOnly @41 :Bool;
  reserved42 @42 :UInt16;
  reserved43 @43 :UInt16;
  reserved44 @44 :AnyPointer;
  reserved45 @45 :Float32;
  reserved46 @46 :Bool;
  steerLimitTimer @47 :Float32;
  reserved48 @48 :AnyPointer;
  reserved49 @49 :UInt16;
  reserved50 @50 :UInt16;
  reserved51 @51 :Float32;
  reserved52 @52 :Float32;
  reserved53 @53 :Float32;
  reserved54 @54 :Float32;
  reserved55 @55 :Bool;
  reserved56 @56 :Bool;
  reserved57 @57 :Bool;
  longitudinalActuatorDelay @58 :Float32;
  reserved59 @59 :Float32;
  reserved60 @60 :Float32;
  reserved61 @61 :Float32;
  reserved62 @62 :AnyPointer;
  wheelSpeedFactor @63 :Float32;
  flags @64 :UInt32;
  reserved65 @65 :Int16;
  notCar @66 :Bool;
  maxLateralAccel @68 :Float32;
  reserved69 @69 :Bool;
  reserved70 @70 :Bool;
  reserved71 @71 :Bool;
  tireStiffnessFactor @72 :Float32;
  passive @73 :Bool;
}
