#if WebKitGTK
import CWebKitGTK

/// An error from a script that returned no value.
struct ScriptError: Error, CustomStringConvertible {
    let description: String
}

/// A pending result from WebKitGTK, which calls back once. If the view is closed first, the result is discarded.
@GLibThread
private final class Callback<Value: Sendable> {
    private weak var view: WebKitView?
    private let end: @GLibThread (Value) -> Void

    init(_ view: WebKitView, _ end: @escaping @GLibThread (Value) -> Void) {
        self.view = view
        self.end = end
        OpenObjects.add(1, to: \.callbacks)
    }

    deinit {
        OpenObjects.add(-1, to: \.callbacks)
    }

    /// Passes WebKitGTK's result to the callback that was registered as the receiver of a C function.
    ///
    /// - Parameters:
    ///   - missing: The value to use if WebKitGTK provides no result.
    ///   - read: A closure that reads the value from the view and the result.
    nonisolated static func finish(
        _ source: UnsafeMutablePointer<GObject>?,
        _ result: OpaquePointer?,
        _ receiver: gpointer?,
        missing: Value,
        _ read: (UnsafeMutablePointer<WebKitWebView>, OpaquePointer) -> Value
    ) {
        guard let receiver else { return }
        let callback = Unmanaged<Callback>.fromOpaque(receiver).takeRetainedValue()
        let view = UnsafeMutableRawPointer(source)?.assumingMemoryBound(to: WebKitWebView.self)
        let value = view.flatMap { view in result.map { read(view, $0) } } ?? missing
        GLibThread.assumeIsolated {
            guard let view = callback.view, !view.isClosed else { return }
            callback.end(value)
        }
    }
}

extension WebKitView {
    /// Evaluates a script in the main frame, in the document that is current at the time.
    ///
    /// - Parameters:
    ///   - world: The script world, or `nil` for the page's own world.
    ///   - end: A closure that receives the value as text. It is not called if the view is closed first.
    func evaluate(
        _ script: String,
        world: String?,
        _ end: @escaping @GLibThread (Result<String, ScriptError>) -> Void
    ) {
        let box = Unmanaged.passRetained(Callback(self, end)).toOpaque()
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

    /// Captures an image of the view.
    ///
    /// - Parameter end: A closure that receives a PNG image (ISO/IEC 15948) or `nil`. It is not called if the view is
    ///   closed first.
    func takeSnapshot(_ end: @escaping @GLibThread ([UInt8]?) -> Void) {
        let box = Unmanaged.passRetained(Callback(self, end)).toOpaque()
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

private func scriptEnded(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?, _ receiver: gpointer?) {
    let missing = ScriptError(description: "the library returned no result")
    Callback<Result<String, ScriptError>>.finish(source, result, receiver, missing: .failure(missing)) { view, result in
        var error: UnsafeMutablePointer<GError>?
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
}

private func snapshotTaken(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?, _ receiver: gpointer?) {
    Callback<[UInt8]?>.finish(source, result, receiver, missing: nil) { view, result in
        guard let surface = webkit_web_view_get_snapshot_finish(view, result, nil) else { return nil }
        defer { cairo_surface_destroy(surface) }
        var bytes: [UInt8] = []
        let status = withUnsafeMutablePointer(to: &bytes) { bytes in
            cairo_surface_write_to_png_stream(surface, addPart, bytes)
        }
        return status == CAIRO_STATUS_SUCCESS ? bytes : nil
    }
}

private func addPart(_ bytes: gpointer?, _ part: UnsafePointer<UInt8>?, _ count: UInt32) -> cairo_status_t {
    guard let bytes, let part else { return CAIRO_STATUS_WRITE_ERROR }
    let added = UnsafeBufferPointer(start: part, count: Int(count))
    bytes.assumingMemoryBound(to: [UInt8].self).pointee.append(contentsOf: added)
    return CAIRO_STATUS_SUCCESS
}
#endif
