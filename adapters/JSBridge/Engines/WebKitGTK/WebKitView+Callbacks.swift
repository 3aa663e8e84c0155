#if WebKitGTK
import CWebKitGTK

/// An error of a script without a value.
struct ScriptError: Error, CustomStringConvertible {
    let description: String
}

extension WebKitView {
    /// A closure called when a script has ended.
    typealias ScriptEnd = @GLibThread (Result<String, ScriptError>) -> Void

    /// Evaluates a script in the main frame of the document that is current when it runs.
    ///
    /// - Parameters:
    ///   - world: The script world, or `nil` for the page's own.
    ///   - end: A closure that receives the value as text, unless the view is closed first.
    func evaluate(_ script: String, world: String?, _ end: @escaping ScriptEnd) {
        let box = Unmanaged.passRetained(ScriptCallback(view: self, end: end)).toOpaque()
        var script = script
        script.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                webkit_web_view_evaluate_javascript(
                    view,
                    text.baseAddress,
                    gssize(text.count),
                    world,
                    nil,
                    nil,
                    scriptEnded,
                    box
                )
            }
        }
    }
}

/// The pending end of a script. The library calls back once; if the view is closed, the result is discarded.
@GLibThread
private final class ScriptCallback {
    private weak var view: WebKitView?
    private let end: WebKitView.ScriptEnd

    init(view: WebKitView, end: @escaping WebKitView.ScriptEnd) {
        self.view = view
        self.end = end
        OpenObjects.add(1, to: \.scripts)
    }

    deinit {
        OpenObjects.add(-1, to: \.scripts)
    }

    func finish(_ result: Result<String, ScriptError>) {
        guard let view, !view.isClosed else { return }
        end(result)
    }
}

private func scriptEnded(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?, _ receiver: gpointer?) {
    guard let receiver else { return }
    let callback = Unmanaged<ScriptCallback>.fromOpaque(receiver).takeRetainedValue()
    let text = source.flatMap { source in result.map { scriptResult(UnsafeMutableRawPointer(source), $0) } }
    let ended = text ?? .failure(ScriptError(description: "the library returned no result"))
    GLibThread.assumeIsolated { callback.finish(ended) }
}

private func scriptResult(_ view: UnsafeMutableRawPointer, _ result: OpaquePointer) -> Result<String, ScriptError> {
    var error: UnsafeMutablePointer<GError>?
    let view = view.assumingMemoryBound(to: WebKitWebView.self)
    guard let value = webkit_web_view_evaluate_javascript_finish(view, result, &error) else {
        let message = error?.pointee.message.map { String(cString: $0) } ?? "no value"
        g_clear_error(&error)
        return .failure(ScriptError(description: message))
    }
    defer { g_object_unref(value) }
    guard let text = jsc_value_to_string(value) else { return .failure(ScriptError(description: "no text")) }
    defer { g_free(text) }
    return .success(String(cString: text))
}

extension WebKitView {
    /// Captures an image of the view.
    ///
    /// - Parameter end: A closure that receives a PNG (ISO/IEC 15948) or `nil`. Not called if the view is closed first.
    func takeSnapshot(_ end: @escaping @GLibThread ([UInt8]?) -> Void) {
        let box = Unmanaged.passRetained(SnapshotCallback(end)).toOpaque()
        webkit_web_view_get_snapshot(
            view,
            WEBKIT_SNAPSHOT_REGION_VISIBLE,
            WEBKIT_SNAPSHOT_OPTIONS_NONE,
            nil,
            snapshotTaken,
            box
        )
    }
}

@GLibThread
private final class SnapshotCallback {
    let end: @GLibThread ([UInt8]?) -> Void

    init(_ end: @escaping @GLibThread ([UInt8]?) -> Void) {
        self.end = end
    }
}

private func snapshotTaken(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?, _ receiver: gpointer?) {
    guard let receiver else { return }
    let callback = Unmanaged<SnapshotCallback>.fromOpaque(receiver).takeRetainedValue()
    let picture = source.flatMap { source in result.flatMap { png(UnsafeMutableRawPointer(source), $0) } }
    GLibThread.assumeIsolated { callback.end(picture) }
}

private func png(_ view: UnsafeMutableRawPointer, _ result: OpaquePointer) -> [UInt8]? {
    let view = view.assumingMemoryBound(to: WebKitWebView.self)
    guard let surface = webkit_web_view_get_snapshot_finish(view, result, nil) else { return nil }
    defer { cairo_surface_destroy(surface) }
    var bytes: [UInt8] = []
    let status = withUnsafeMutablePointer(to: &bytes) { bytes in
        cairo_surface_write_to_png_stream(surface, addPart, bytes)
    }
    return status == CAIRO_STATUS_SUCCESS ? bytes : nil
}

private func addPart(_ bytes: gpointer?, _ part: UnsafePointer<UInt8>?, _ count: UInt32) -> cairo_status_t {
    guard let bytes, let part else { return CAIRO_STATUS_WRITE_ERROR }
    let added = UnsafeBufferPointer(start: part, count: Int(count))
    bytes.assumingMemoryBound(to: [UInt8].self).pointee.append(contentsOf: added)
    return CAIRO_STATUS_SUCCESS
}
#endif
