import NavigationChain
import SignalboxRoutes
import Testing

@Suite struct SchemeHandlerTests {
    @Test func listedSchemesArePassedOnInAnyLetterCase() throws {
        let handler = try SchemeHandler(allowing: ["HTTPS", "myapp"])
        #expect(handler.decide(try request("https://shop.example/")) == nil)
        #expect(handler.decide(try request("HTTPS://shop.example/")) == nil)
        #expect(handler.decide(try request("MyApp:product/42")) == nil)
    }

    @Test(arguments: [
        "http://shop.example/": "http", "JaVaScRiPt:alert(1)": "javascript", "data:text/html,x": "data",
        "file:///etc/passwd": "file", "intent://scan/#Intent;end": "intent", "blob:https://shop.example/1": "blob",
        "view-source:https://shop.example/": "view-source", "vbscript:x": "vbscript", "about:config": "about",
        "httpss://shop.example/": "httpss", "ws://shop.example/": "ws", "mailto:a@b": "mailto",
    ])
    func everyOtherSchemeIsCancelledAndNamed(text: String, scheme: String) throws {
        let handler = try SchemeHandler(allowing: ["https"])
        for frame in FrameRole.allCases {
            let decision = handler.decide(try request(text, frame: frame))
            #expect(decision == .cancel("the scheme \(scheme) is not allowed"), "\(text) in \(frame)")
        }
    }

    @Test(arguments: [
        "javascript", "data", "file", "intent", "blob", "about", "view-source", "vbscript", "filesystem", "JavaScript",
    ])
    func aDangerousSchemeIsNeverAllowedByAccident(scheme: String) throws {
        #expect(code { _ = try SchemeHandler(allowing: ["https", scheme]) } == .dangerousScheme)
        let handler = try SchemeHandler(allowing: ["https"], dangerous: [scheme])
        #expect(handler.decide(try request("\(scheme)://x")) == nil)
    }

    @Test(arguments: [
        "", ":", "https:", "https://", "1a", "ht tp", "ä", "https\n", "*", String(repeating: "a", count: 65),
    ])
    func whatIsNoSchemeIsRefused(text: String) {
        #expect(code { _ = try SchemeHandler(allowing: [text]) } == .invalidScheme)
        #expect(code { _ = try SchemeHandler(allowing: [], dangerous: [text]) } == .invalidScheme)
    }

    @Test(arguments: ["about:blank", "about:blank?x", "about:blank#x", "ABOUT:blank", "about:srcdoc", "about:srcdoc#x"])
    func theEmptyDocumentsOfFramesAreAllowedWhereTheyMayBeFrames(text: String) throws {
        let handler = try SchemeHandler(allowing: ["https"])
        #expect(handler.decide(try request(text, kind: .other, frame: .sub))?.policy == .allow)
        #expect(handler.decide(try request(text, kind: .other, frame: .unknown))?.policy == .allow)
        #expect(handler.decide(try request(text, kind: .other, frame: .main))?.policy == .cancel)
        #expect(handler.decide(try request(text, kind: .newWindow, frame: .unknown))?.policy == .cancel)
        #expect(handler.decide(try request(text, kind: .download, frame: .sub))?.policy == .cancel)
    }

    @Test(arguments: [
        "about:blankx", "about:Blank", "about:bl%61nk", "about:srcdoc?x", "about:srcdoc/", "about:/blank",
        "about://blank",
        "about:", "xabout:blank", "about:blank%20",
    ])
    func whatOnlyLooksLikeThemIsCancelled(text: String) throws {
        let handler = try SchemeHandler(allowing: ["https"])
        #expect(handler.decide(try request(text, frame: .sub))?.policy == .cancel)
    }

    @Test func whereAboutIsListedTheMainFrameMayHaveIt() throws {
        let handler = try SchemeHandler(allowing: ["https"], dangerous: ["about"])
        #expect(handler.decide(try request("about:blank", frame: .main)) == nil)
        #expect(handler.decide(try request("about:blank", frame: .sub))?.policy == .allow)
    }
}
