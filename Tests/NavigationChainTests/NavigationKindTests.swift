import NavigationChain
import Testing

@Suite struct NavigationKindTests {
    @Test func theNamesAreThoseOfTheDocumentation() {
        #expect(
            NavigationKind.allCases.map(\.rawValue)
                == ["link", "redirect", "form", "reload", "newWindow", "download", "other"]
        )
        #expect(FrameRole.allCases.map(\.rawValue) == ["main", "sub", "unknown"])
    }
}
