import Testing

@testable import JSBridge

@Suite struct BridgeScriptTests {
    @Test func theBridgeIsSmall() {
        #expect(PackageResources.bridge_js.count < 8_000)
    }
}
