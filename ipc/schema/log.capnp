# The message that travels on every topic of an openpilot system: one Event, of which the union
# says what is inside. Our own declarations, wire compatible by ordinal and type; type ids do not
# travel. Every union member is a pointer, so a member we never read is reserved as AnyPointer (it
# keeps its newest name, so that tools can say what they skipped).
@0x9f3c00aafc10539b;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("modeld::wire");

using Camera = import "camera.capnp";
using Car = import "car.capnp";
using Device = import "device.capnp";
using Model = import "model.capnp";
using State = import "state.capnp";

struct Event {
  logMonoTime @0 :UInt64;  # ns
  valid @67 :Bool = true;  # outside the union: it is not a kind of message

  # The tag on the wire is the rank of the member: ordinal - 1 below 67, ordinal - 2 above.
  union {
    initData @1 :Device.InitData;
    narrowRoadCameraState @2 :Camera.FrameData;  # formerly roadCameraState
    gpsNMEADEPRECATED @3 :AnyPointer;
    sensorEventDEPRECATED @4 :AnyPointer;
    can @5 :List(Device.CanData);
    deviceState @6 :Device.DeviceState;
    controlsState @7 :AnyPointer;
    liveEventDEPRECATED @8 :AnyPointer;
    model @9 :AnyPointer;
    featuresDEPRECATED @10 :AnyPointer;
    sensorEventsDEPRECATED @11 :AnyPointer;
    pandaStateDEPRECATED @12 :AnyPointer;
    radarState @13 :AnyPointer;
    liveUIDEPRECATED @14 :AnyPointer;
    narrowRoadEncodeIdx @15 :Camera.EncodeIndex;  # formerly roadEncodeIdx
    liveTracksDEPRECATED @16 :AnyPointer;
    sendcan @17 :List(Device.CanData);
    logMessage @18 :Text;
    extrinsicsCalibration @19 :State.ExtrinsicsCalibration;  # formerly liveCalibration
    operatingSystemLog @20 :AnyPointer;  # formerly androidLog
    gpsLocation @21 :AnyPointer;
    carState @22 :Car.CarState;
    carControl @23 :Car.CarControl;
    longitudinalPlan @24 :AnyPointer;
    liveLocationDEPRECATED @25 :AnyPointer;
    ethernetDataDEPRECATED @26 :AnyPointer;
    navUpdateDEPRECATED @27 :AnyPointer;
    cellInfoDEPRECATED @28 :AnyPointer;
    wifiScanDEPRECATED @29 :AnyPointer;
    androidGnssDEPRECATED @30 :AnyPointer;
    qcomGnss @31 :AnyPointer;
    lidarPtsDEPRECATED @32 :AnyPointer;
    procLog @33 :AnyPointer;
    ubloxGnss @34 :AnyPointer;
    clocks @35 :AnyPointer;
    liveMpcDEPRECATED @36 :AnyPointer;
    liveLongitudinalMpcDEPRECATED @37 :AnyPointer;
    navStatusDEPRECATED @38 :AnyPointer;
    ubloxRaw @39 :Data;
    gpsPlannerPointsDEPRECATED @40 :AnyPointer;
    gpsPlannerPlanDEPRECATED @41 :AnyPointer;
    applanixRawDEPRECATED @42 :Data;
    trafficEventsDEPRECATED @43 :AnyPointer;
    liveLocationTimingDEPRECATED @44 :AnyPointer;
    orbslamCorrectionDEPRECATED @45 :AnyPointer;
    liveLocationCorrectedDEPRECATED @46 :AnyPointer;
    orbObservationDEPRECATED @47 :AnyPointer;
    gpsLocationExternal @48 :AnyPointer;
    locationDEPRECATED @49 :AnyPointer;
    uiNavigationEventDEPRECATED @50 :AnyPointer;
    liveLocationKalmanDeprecatedDEPRECATED @51 :AnyPointer;
    testJoystick @52 :AnyPointer;
    orbOdometryDEPRECATED @53 :AnyPointer;
    orbFeaturesDEPRECATED @54 :AnyPointer;
    applanixLocationDEPRECATED @55 :AnyPointer;
    orbKeyFrameDEPRECATED @56 :AnyPointer;
    uiLayoutStateDEPRECATED @57 :AnyPointer;
    orbFeaturesSummaryDEPRECATED @58 :AnyPointer;
    driverStateDEPRECATED @59 :AnyPointer;
    boot @60 :AnyPointer;
    vehicleParameters @61 :AnyPointer;  # formerly liveParameters
    liveMapDataDEPRECATED @62 :AnyPointer;
    cameraOdometry @63 :Model.CameraOdometry;
    lateralPlanDEPRECATED @64 :AnyPointer;
    kalmanOdometryDEPRECATED @65 :AnyPointer;
    thumbnail @66 :Camera.Thumbnail;
    onroadEventsDEPRECATED @68 :AnyPointer;
    carParams @69 :Car.CarParams;
    cabinCameraState @70 :Camera.FrameData;  # formerly driverCameraState
    # formerly driverMonitoringState:
    driverMonitoringStateDEPRECATED @71 :State.DriverMonitoringStateDEPRECATED;
    liveLocationKalmanDEPRECATED @72 :AnyPointer;
    sentinel @73 :Device.Sentinel;
    wideRoadCameraState @74 :Camera.FrameData;
    modelV2 @75 :Model.ModelDataV2;
    cabinEncodeIdx @76 :Camera.EncodeIndex;  # formerly driverEncodeIdx
    wideRoadEncodeIdx @77 :Camera.EncodeIndex;
    managerState @78 :AnyPointer;
    uploaderStateDEPRECATED @79 :AnyPointer;
    peripheralState @80 :AnyPointer;
    pandaStates @81 :AnyPointer;
    navInstructionDEPRECATED @82 :AnyPointer;
    navRouteDEPRECATED @83 :AnyPointer;
    navThumbnailDEPRECATED @84 :AnyPointer;
    errorLogMessage @85 :Text;
    narrowRoadEncodeData @86 :Camera.EncodeData;  # formerly roadEncodeData
    cabinEncodeData @87 :Camera.EncodeData;  # formerly driverEncodeData
    wideRoadEncodeData @88 :Camera.EncodeData;
    qNarrowRoadEncodeData @89 :Camera.EncodeData;  # formerly qRoadEncodeData
    qNarrowRoadEncodeIdx @90 :Camera.EncodeIndex;  # formerly qRoadEncodeIdx
    gnssMeasurementsDEPRECATED @91 :AnyPointer;
    driverStateV2 @92 :Model.DriverStateV2;
    userBookmark @93 :AnyPointer;  # formerly userFlag
    lateralTorqueParameters @94 :AnyPointer;  # formerly liveTorqueParameters
    magnetometer @95 :AnyPointer;
    lightSensor @96 :AnyPointer;
    temperatureSensor @97 :AnyPointer;
    accelerometer @98 :AnyPointer;
    gyroscope @99 :AnyPointer;
    gyroscope2DEPRECATED @100 :AnyPointer;
    accelerometer2DEPRECATED @101 :AnyPointer;
    uiDebug @102 :AnyPointer;
    soundPressure @103 :AnyPointer;  # formerly microphone
    navModelDEPRECATED @104 :AnyPointer;
    mapRenderStateDEPRECATED @105 :AnyPointer;
    uiPlanDEPRECATED @106 :AnyPointer;
    customReserved0 @107 :AnyPointer;
    customReserved1 @108 :AnyPointer;
    customReserved2 @109 :AnyPointer;
    customReserved3 @110 :AnyPointer;
    customReserved4 @111 :AnyPointer;
    customReserved5 @112 :AnyPointer;
    customReserved6 @113 :AnyPointer;
    customReserved7 @114 :AnyPointer;
    customReserved8 @115 :AnyPointer;
    customReserved9 @116 :AnyPointer;
    livestreamNarrowRoadEncodeIdx @117 :Camera.EncodeIndex;  # formerly livestreamRoadEncodeIdx
    livestreamWideRoadEncodeIdx @118 :Camera.EncodeIndex;
    livestreamCabinEncodeIdx @119 :Camera.EncodeIndex;  # formerly livestreamDriverEncodeIdx
    livestreamNarrowRoadEncodeData @120 :Camera.EncodeData;  # formerly livestreamRoadEncodeData
    livestreamWideRoadEncodeData @121 :Camera.EncodeData;
    livestreamCabinEncodeData @122 :Camera.EncodeData;  # formerly livestreamDriverEncodeData
    temperatureSensor2DEPRECATED @123 :AnyPointer;
    customReservedRawData0 @124 :Data;
    customReservedRawData1 @125 :Data;
    customReservedRawData2 @126 :Data;
    carOutput @127 :AnyPointer;
    drivingModelData @128 :Model.DrivingModelData;
    deviceMotion @129 :AnyPointer;  # formerly livePose
    selfdriveState @130 :AnyPointer;
    radarTracks @131 :AnyPointer;  # formerly liveTracks
    driverAssistance @132 :AnyPointer;
    alertDebug @133 :AnyPointer;
    onroadEvents @134 :AnyPointer;
    touch @135 :AnyPointer;
    customReserved10 @136 :AnyPointer;
    customReserved11 @137 :AnyPointer;
    customReserved12 @138 :AnyPointer;
    customReserved13 @139 :AnyPointer;
    customReserved14 @140 :AnyPointer;
    customReserved15 @141 :AnyPointer;
    customReserved16 @142 :AnyPointer;
    customReserved17 @143 :AnyPointer;
    customReserved18 @144 :AnyPointer;
    customReserved19 @145 :AnyPointer;
    lateralDelay @146 :State.LateralDelay;  # formerly liveDelay
    rawAudioData @147 :AnyPointer;
    bookmarkButton @148 :AnyPointer;
    audioFeedbackDEPRECATED @149 :AnyPointer;  # formerly audioFeedback
    lateralManeuverPlan @150 :AnyPointer;
    driverMonitoringState @151 :State.DriverMonitoringState;
    chestnutState @152 :Device.ChestnutState;
    chestnutGpuState @153 :Device.ChestnutState;
    livestreamAudio @154 :AnyPointer;
  }
}
