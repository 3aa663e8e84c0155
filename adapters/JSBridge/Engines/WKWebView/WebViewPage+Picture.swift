#if canImport(WebKit)
import Foundation
import WebKit

#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

extension WebViewPage {
    /// What is drawn, in PNG, or `nil`.
    func picture() async -> [UInt8]? {
        await withCheckedContinuation { waiting in
            parts.view.takeSnapshot(with: nil) { image, _ in
                waiting.resume(returning: image.flatMap(WebViewPage.png).map { [UInt8]($0) })
            }
        }
    }

    #if canImport(UIKit)
    private nonisolated static func png(_ image: UIImage) -> Data? {
        image.pngData()
    }
    #elseif canImport(AppKit)
    private nonisolated static func png(_ image: NSImage) -> Data? {
        image.tiffRepresentation.flatMap { NSBitmapImageRep(data: $0) }?.representation(using: .png, properties: [:])
    }
    #endif

    /// The value of a script in the page's own world, as text.
    func evaluate(_ script: String) async throws -> String {
        let result = await withCheckedContinuation { waiting in
            parts.view.evaluateJavaScript(script, in: nil, in: .page) { result in
                waiting.resume(returning: result.map { "\($0)" })
            }
        }
        return try result.get()
    }
}
#endif
