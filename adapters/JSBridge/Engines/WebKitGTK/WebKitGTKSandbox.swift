#if WebKitGTK
import CWebKitGTK

/// Whether the processes that run pages are shut in (bubblewrap: no files but the libraries, no other processes, no network
/// but through the library's network process).
public enum WebKitGTKSandbox: Sendable, Hashable {
    /// Shut in where the system allows it, and where it does not the log says so with its reason, as a warning.
    case whereAllowed
    /// Shut in, or the run ends with ``JSBridgeError`` `noSandbox`.
    case required
    /// Not shut in: for trusted pages alone. The log says so.
    case off
}

/// Whether the processes of pages can be shut in on this system. The library ends the whole process when it was told to and
/// cannot, so it is tried before.
@GLibThread
enum SandboxProbe {
    private static var known: String??

    /// Why not, or `nil` when they can. The first call takes some tens of milliseconds.
    static func fault() -> String? {
        if let known { return known }
        let found = look()
        known = found
        return found
    }

    private static func look() -> String? {
        if g_getenv("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS") != nil {
            return "the environment variable WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS turns it off"
        }
        if g_file_test("/.flatpak-info", G_FILE_TEST_EXISTS) != 0 || g_getenv("SNAP") != nil {
            return "inside Flatpak or Snap the library has no sandbox of its own"
        }
        for program in ["bwrap", "xdg-dbus-proxy"] {
            guard let path = g_find_program_in_path(program) else {
                return "the program \(program) is not installed (packages bubblewrap and xdg-dbus-proxy)"
            }
            g_free(path)
        }
        return tryToShutIn()
    }

    /// With what the library's own test uses.
    private static func tryToShutIn() -> String? {
        var (output, errors): (UnsafeMutablePointer<gchar>?, UnsafeMutablePointer<gchar>?)
        var status: gint = 0
        let command = "bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all true"
        let hasRun = g_spawn_command_line_sync(command, &output, &errors, &status, nil) != 0
        defer {
            g_free(output)
            g_free(errors)
        }
        if hasRun && g_spawn_check_wait_status(status, nil) != 0 { return nil }
        let said = errors.map { String(cString: $0) } ?? ""
        let line = said.split(whereSeparator: \.isNewline).first.map { LineText.escaped(String($0)) }
        return "bwrap cannot make namespaces here (\(line ?? "it gives no reason"))"
    }
}
#endif
