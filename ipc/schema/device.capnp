# The computer in the car: its state, what a log starts and ends with, raw CAN frames (read from
# logs only), the external GPU.
@0x98e7fc49d9116636;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::wire");

struct DeviceState {
  cpu0 @0 :UInt16;
  cpu1 @1 :UInt16;
  cpu2 @2 :UInt16;
  cpu3 @3 :UInt16;
  mem @4 :UInt16;
  gpu @5 :UInt16;
  bat @6 :UInt32;
  freeSpacePercent @7 :Float32;
  batteryPercent @8 :Int16;
  batteryStatus @9 :Text;
  fanSpeedPercentDesired @10 :UInt16;
  started @11 :Bool;
  usbOnline @12 :Bool;
  startedMonoTime @13 :UInt64;
  thermalStatus @14 :ThermalStatus;
  batteryCurrent @15 :Int32;
  batteryVoltage @16 :Int32;
  chargingError @17 :Bool;
  chargingDisabled @18 :Bool;
  memoryUsagePercent @19 :Int8;
  cpuUsagePercentOld @20 :Int8;
  pa0 @21 :UInt16;
  networkType @22 :NetworkType;
  offroadPowerUsageUwh @23 :UInt32;
  networkStrength @24 :NetworkStrength;
  carBatteryCapacityUwh @25 :UInt32;
  cpuTempC @26 :List(Float32);
  gpuTempC @27 :List(Float32);
  memoryTempC @28 :Float32;
  batteryTempC @29 :Float32;
  ambientTempC @30 :Float32;
  networkInfo @31 :AnyPointer;
  lastAthenaPingTime @32 :UInt64;
  gpuUsagePercent @33 :Int8;
  cpuUsagePercent @34 :List(Int8);
  nvmeTempC @35 :List(Float32);
  modemTempC @36 :List(Float32);
  screenBrightnessPercent @37 :Int8;
  thermalZones @38 :List(ThermalZone);
  pmicTempC @39 :List(Float32);
  powerDrawW @40 :Float32;
  networkMetered @41 :Bool;
  somPowerDrawW @42 :Float32;
  networkStats @43 :AnyPointer;
  maxTempC @44 :Float32;
  deviceType @45 :InitData.DeviceType;
  intakeTempC @46 :Float32;
  exhaustTempC @47 :Float32;
  gnssTempC @48 :Float32;
  dspTempC @49 :Float32;
  bottomSocTempC @50 :Float32;
  chestnutPresent @51 :Bool;
  usbState @52 :AnyPointer;

  enum ThermalStatus {
    ok @0;
    warmDEPRECATED @1;
    overheated @2;
    critical @3;
  }

  enum NetworkType {
    none @0;
    wifi @1;
    cell2G @2;
    cell3G @3;
    cell4G @4;
    cell5G @5;
    ethernet @6;
  }

  enum NetworkStrength {
    unknown @0;
    poor @1;
    moderate @2;
    good @3;
    great @4;
  }

  struct ThermalZone {
    name @0 :Text;
    temp @1 :Float32;
  }
}

struct TextDataMap {
  entries @0 :List(Entry);

  struct Entry {
    key @0 :Text;
    value @1 :Data;
  }
}

struct InitData {
  kernelArgs @0 :List(Text);
  gctx @1 :Text;
  dongleId @2 :Text;
  deviceType @3 :DeviceType;
  version @4 :Text;
  androidBuildInfo @5 :AnyPointer;
  androidSensors @6 :AnyPointer;
  chffrAndroidExtra @7 :AnyPointer;
  pandaInfo @8 :AnyPointer;
  dirty @9 :Bool;
  gitCommit @10 :Text;
  gitBranch @11 :Text;
  passive @12 :Bool;
  gitRemote @13 :Text;
  iosBuildInfo @14 :AnyPointer;
  kernelVersion @15 :Text;
  androidProperties @16 :TextDataMap;
  params @17 :TextDataMap;
  osVersion @18 :Text;
  commands @19 :TextDataMap;
  wallTimeNanos @20 :UInt64;
  gitCommitDate @21 :Text;
  bootlogId @22 :Text;
  gitSrcCommit @23 :Text;
  gitSrcCommitDate @24 :Text;

  enum DeviceType {
    unknown @0;
    neo @1;
    chffrAndroid @2;
    chffrIos @3;
    tici @4;
    pc @5;
    tizi @6;
    mici @7;
  }
}

struct Sentinel {
  type @0 :SentinelType;
  signal @1 :Int32;

  enum SentinelType {
    endOfSegment @0;
    endOfRoute @1;
    startOfSegment @2;
    startOfRoute @3;
  }
}

struct CanData {
  address @0 :UInt32;
  busTime @1 :UInt16;
  dat @2 :Data;
  src @3 :UInt8;
}

struct ChestnutState {
  tempC @0 :Float32;
  memoryTempC @1 :Float32;
  powerDrawW @2 :Float32;
  powerLimitW @3 :Float32;
  gpuUsagePercent @4 :UInt8;
  gpuClockMhz @5 :UInt16;
  fanSpeedRpm @6 :UInt16;
  pcieLtssm @7 :UInt8;
  supplyVoltage @8 :UInt16;
  supplyCurrent @9 :Int16;
  supplyFault @10 :Bool;
}
