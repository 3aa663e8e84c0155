#if WebKitGTK
import AdapterThreads
import CWebKitGTK

/// Calls a closure on the GLib thread after some time, once or again and again, until it is stopped; so long it keeps itself.
@GLibThread
final class GLibTimer {
    private let work: @GLibThread () -> Void
    private let repeats: Bool
    private var source: guint = 0

    /// - Parameters:
    ///   - time: rounded up to milliseconds, at most one day.
    ///   - work: must not keep the timer's owner.
    init(after time: Duration, repeats: Bool = false, _ work: @escaping @GLibThread () -> Void) {
        self.work = work
        self.repeats = repeats
        let timer = Unmanaged.passRetained(self).toOpaque()
        source = g_timeout_add_full(
            G_PRIORITY_DEFAULT,
            guint(time.pollMilliseconds),
            timerIsDue,
            timer,
            letTimerGo
        )
    }

    /// From now on nothing is called.
    func stop() {
        guard source != 0 else { return }
        g_source_remove(source)
        source = 0
    }

    /// - Returns: whether to come again.
    fileprivate func fire() -> Bool {
        if !repeats { source = 0 }
        work()
        return repeats && source != 0
    }
}

private func timerIsDue(_ timer: gpointer?) -> gboolean {
    guard let timer else { return 0 }
    let object = Unmanaged<GLibTimer>.fromOpaque(timer).takeUnretainedValue()
    return GLibThread.assumeIsolated { object.fire() } ? 1 : 0
}

private func letTimerGo(_ timer: gpointer?) {
    guard let timer else { return }
    Unmanaged<GLibTimer>.fromOpaque(timer).release()
}
#endif
