// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A stand-in for Apple's module, whose documentation applies.
@_exported import Foundation

open class UIImage: NSObject {
    public func pngData() -> Data? { Data("a picture".utf8) }
}
