// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A stand-in: the names are Apple's, and so is their documentation.
@_exported import Foundation

open class UIImage: NSObject {
    public func pngData() -> Data? { Data("a picture".utf8) }
}
