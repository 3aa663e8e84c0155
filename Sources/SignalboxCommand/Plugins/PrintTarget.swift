/// Where the plugin `print` writes its lines.
enum PrintTarget: Sendable {
    /// stdout; a line waits while nobody reads.
    case output(StandardOutput)
    /// stderr, as stdout holds something else.
    case diagnostics
}
