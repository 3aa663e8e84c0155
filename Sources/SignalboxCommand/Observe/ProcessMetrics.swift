import AdapterSupport
import SignalboxCore

/// What the system says about this process, under the names that clients of Prometheus have in common.
struct ProcessMetrics {
    /// Processor time of all threads, user and system, in seconds.
    var processorSeconds = 0.0
    /// Resident memory in bytes, or `nil` where the system does not tell.
    var residentBytes: Int?
    /// Open descriptors, or `nil` where the system does not tell.
    var openDescriptors: Int?
    /// The limit of open descriptors.
    var maximumDescriptors = 0
    /// When the process started, in seconds since 1970.
    var startSeconds = 0.0

    /// When this program began, to the moment of the first use, which is at the start of a run that is observed.
    static let start: Double = {
        let now = WallTime.now()
        return Double(now.seconds) + Double(now.nanoseconds) / 1e9
    }()

    static var now: ProcessMetrics {
        var metrics = ProcessMetrics()
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        metrics.processorSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        var limit = rlimit()
        #if canImport(Glibc)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
        getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        metrics.maximumDescriptors = Int(clamping: limit.rlim_cur)
        metrics.startSeconds = start
        let pages = try? FileContent.text(of: "/proc/self/statm", limit: FileContent.valueLimit).split(separator: " ")
        metrics.residentBytes = pages.flatMap { $0.dropFirst().first }.flatMap { Int($0) }.map {
            $0 * Int(getpagesize())
        }
        metrics.openDescriptors = FolderListing.names(in: "/proc/self/fd")?.count
        return metrics
    }

    func write(to text: inout String) {
        add("process_cpu_seconds_total", "counter", "processor time of all threads", "\(processorSeconds)", &text)
        add("process_resident_memory_bytes", "gauge", "resident memory", residentBytes.map { "\($0)" }, &text)
        add("process_open_fds", "gauge", "open descriptors", openDescriptors.map { "\($0)" }, &text)
        add("process_max_fds", "gauge", "the limit of open descriptors", "\(maximumDescriptors)", &text)
        let since = "when the process started, in seconds since 1970"
        add("process_start_time_seconds", "gauge", since, "\(startSeconds)", &text)
    }

    private func add(_ name: String, _ kind: String, _ help: String, _ value: String?, _ text: inout String) {
        guard let value else { return }
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n\(name) \(value)\n"
    }
}
