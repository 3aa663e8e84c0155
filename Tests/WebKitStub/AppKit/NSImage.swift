// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// A stand-in for Apple's module, whose documentation applies.
@_exported import Foundation

open class NSImage: NSObject {
    open var tiffRepresentation: Data? { nil }
}

open class NSBitmapImageRep: NSObject {
    public enum FileType: UInt, Sendable {
        case png = 4
    }

    public struct PropertyKey: Hashable, Sendable {}

    public init?(data: Data) {}

    open func representation(using storageType: FileType, properties: [PropertyKey: Any]) -> Data? { nil }
}
