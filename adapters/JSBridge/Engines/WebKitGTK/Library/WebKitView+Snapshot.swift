#if WebKitGTK
import CWebKitGTK

extension WebKitView {
    /// Draws what the view shows now.
    ///
    /// - Parameter end: gets a PNG (ISO/IEC 15948), or `nil`; not called when the view is closed before.
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
