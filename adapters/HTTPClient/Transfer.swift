import AdapterSupport
import CCurl
import SecureTransport

/// One transfer in the library: its handle, and what it has received. Only the thread of its loop uses it.
final class Transfer {
    /// The maximum size of a response's headers, in bytes.
    static let headerLimit = 64 << 10

    let job: TransferJob
    let easy: UnsafeMutableRawPointer
    private var headers: UnsafeMutablePointer<curl_slist>?
    private let problem = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var head = ResponseHead()
    private var body: [UInt8] = []
    /// Why the rest of the response is not read.
    private var refusal: HTTPClientError?

    init(_ job: TransferJob, _ security: HTTPSecurity) throws(HTTPClientError) {
        guard let easy = curl_easy_init() else { throw Transfer.noMemory }
        self.easy = easy
        self.job = job
        problem.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try setConnection()
        try setSecurity(security)
        try setRequest()
        try setResponse()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
        problem.deallocate()
    }

    // MARK: - Options

    private static let noMemory = HTTPClientError.noResources(
        "libcurl refuses the request; there may be too little memory"
    )

    private func check(_ code: CURLcode) throws(HTTPClientError) {
        guard code == CURLE_OK else { throw Transfer.noMemory }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPClientError) {
        try check(ccurl_set_number(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String?) throws(HTTPClientError) {
        try check(ccurl_set_text(easy, option, value))
    }

    private func setConnection() throws(HTTPClientError) {
        try set(CURLOPT_URL, job.url.text)
        try set(CURLOPT_PATH_AS_IS, 1)
        try check(ccurl_set_protocols(easy))
        try check(ccurl_set_independence(easy))
        // Without signals, which belong to the whole program.
        try set(CURLOPT_NOSIGNAL, 1)
        // The variables of the environment must not choose a proxy.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOPROXY, "*")
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        // 0 would mean the library's default.
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(job.request.connectTimeout.pollMilliseconds)))
        try check(ccurl_set_socket_hook(easy, closesOnExec))
    }

    private func setSecurity(_ security: HTTPSecurity) throws(HTTPClientError) {
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        switch security.trust {
        case .system: break
        case .authority(let file):
            try set(CURLOPT_CAINFO, file)
            // The library's folder of authorities would be trusted in addition.
            try set(CURLOPT_CAPATH, nil)
        case .insecure:
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let identity = security.identity {
            try set(CURLOPT_SSLCERT, identity.certificateFile)
            try set(CURLOPT_SSLKEY, identity.keyFile)
            // Without a passphrase, OpenSSL would ask for one at the terminal.
            try set(CURLOPT_KEYPASSWD, "")
        }
    }

    private func setRequest() throws(HTTPClientError) {
        let request = job.request
        try set(CURLOPT_POST, 1)
        // Of a method with another name, the library would follow no rule of its own: the body is sent as for POST.
        if request.method != .post { try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        try check(ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
        // Without an address, the library would read the body from stdin.
        var body = request.body.isEmpty ? [0] : request.body
        try check(ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, &body))
        // The library would otherwise wait for a 100 before a large body.
        var lines = ["Expect:"]
        let names = Set(request.headers.map { $0.name.lowercased() })
        if !names.contains("content-type") { lines.append("Content-Type:") }
        if !names.contains("user-agent") { lines.append("User-Agent: signalbox") }
        lines += request.headers.map { "\($0.name): \($0.value)" }
        for line in lines {
            guard let longer = curl_slist_append(headers, line) else { throw Transfer.noMemory }
            headers = longer
        }
        try check(ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, headers))
    }

    private func setResponse() throws(HTTPClientError) {
        let owner = Unmanaged.passUnretained(self).toOpaque()
        try check(ccurl_set_sink(easy, CURLOPT_HEADERFUNCTION, receivesHeader))
        try check(ccurl_set_pointer(easy, CURLOPT_HEADERDATA, owner))
        try check(ccurl_set_sink(easy, CURLOPT_WRITEFUNCTION, receivesBody))
        try check(ccurl_set_pointer(easy, CURLOPT_WRITEDATA, owner))
        try check(ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, problem))
    }

    // MARK: - The response

    /// - Returns: Whether to read on.
    fileprivate func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard head.add(line) else {
            refusal = .headersTooLarge(limit: Transfer.headerLimit)
            return false
        }
        return true
    }

    /// - Returns: Whether to read on.
    fileprivate func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= job.request.maximumResponse - body.count else {
            refusal = .responseTooLarge(limit: job.request.maximumResponse)
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// Returns the result of a transfer that has ended.
    func result(_ code: CURLcode) -> Result<TransferResult, HTTPClientError> {
        guard code == CURLE_OK else { return .failure(refusal ?? error(code)) }
        var status = 0
        ccurl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
        var location: UnsafePointer<CChar>?
        ccurl_get_text(easy, CURLINFO_REDIRECT_URL, &location)
        let delay = head.retryAfter.flatMap { RetryAfter.delay($0, now: .now()) }
        return .success(
            TransferResult(
                response: HTTPResponse(status: status, retryAfter: delay, body: body),
                redirection: location.map { String(cString: $0) }
            )
        )
    }

    private func error(_ code: CURLcode) -> HTTPClientError {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: .unreachable("no address of the host is known")
        case CURLE_OPERATION_TIMEDOUT: .unreachable("it did not accept a connection in time")
        case CURLE_COULDNT_CONNECT: .unreachable(systemError ?? Transfer.text(curl_easy_strerror(code)))
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED:
            .insecure(Transfer.text(problem[0] == 0 ? curl_easy_strerror(code) : UnsafePointer(problem)))
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: Transfer.noMemory
        default: .interrupted(Transfer.text(curl_easy_strerror(code)))
        }
    }

    /// The system's error of the last attempt to connect.
    private var systemError: String? {
        var number = 0
        ccurl_get_number(easy, CURLINFO_OS_ERRNO, &number)
        return number == 0 ? nil : String(cString: strerror(Int32(truncatingIfNeeded: number)))
    }

    /// Returns the library's text, in which a server's certificate may have put anything.
    private static func text(_ text: UnsafePointer<CChar>?) -> String {
        let bytes = text.map { String(cString: $0) }?.utf8.prefix(200) ?? "unknown".utf8.prefix(200)
        return String(decoding: bytes.map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// The head of the last response of a transfer.
private struct ResponseHead {
    private(set) var retryAfter: String?
    private var size = 0

    /// Adds a line, including the status line, with which another response begins.
    ///
    /// - Returns: Whether the head is within the limit.
    mutating func add(_ line: UnsafeRawBufferPointer) -> Bool {
        size += line.count
        guard size <= Transfer.headerLimit else { return false }
        if line.starts(with: "HTTP/".utf8) {
            retryAfter = nil
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")),
            String(decoding: line[..<colon], as: UTF8.self).lowercased() == "retry-after"
        {
            let isSpace = { (byte: UInt8) in byte <= 0x20 }
            let value = line[(colon + 1)...].drop(while: isSpace).reversed().drop(while: isSpace).reversed()
            retryAfter = String(decoding: value, as: UTF8.self)
        }
        return true
    }
}

// MARK: - The library's callbacks, on the thread of the loop

/// Returning fewer bytes than there are ends the transfer.
private func receivesHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ owner: UnsafeMutableRawPointer?
)
    -> Int
{
    guard let owner, let bytes else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
    return transfer.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

private func receivesBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ owner: UnsafeMutableRawPointer?
)
    -> Int
{
    guard let owner, let bytes else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
    return transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

/// Keeps a socket from programs that this process starts.
private func closesOnExec(_ owner: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ purpose: curlsocktype) -> Int32
{
    fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 ? 0 : 1
}
