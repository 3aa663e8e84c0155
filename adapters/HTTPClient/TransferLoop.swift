import AdapterSupport
import CCurl
import SecureTransport

/// Makes the transfers of one client, on a thread of its own. Only that thread uses the loop and its transfers.
final class TransferLoop {
    /// The maximum number of connections to one host and port. Further requests wait for one of them, or share one with HTTP/2.
    static let connectionsPerHost = 16
    /// The maximum number of connections.
    static let connections = 64

    /// The library must be initialised once, before it is used.
    private static let start: CURLcode = {
        TLSLibrary.ignoreBrokenPipes()
        return ccurl_start()
    }()

    private let inbox: TransferInbox
    private let security: HTTPSecurity
    private let multi: UnsafeMutableRawPointer
    private var transfers: [UInt64: Transfer] = [:]
    /// The tickets of the library's handles.
    private var tickets: [UnsafeMutableRawPointer: UInt64] = [:]
    private var isStopping = false

    /// Runs until the client stops, or until there was no transfer for `idleLimit`.
    static func run(_ inbox: TransferInbox, _ security: HTTPSecurity, idleLimit: Duration) {
        // The loop must be gone before the end of the thread's use of OpenSSL.
        do {
            if let loop = TransferLoop(inbox, security) {
                loop.run(idleLimit: idleLimit)
            } else {
                refuse(inbox.close(), .noResources("libcurl cannot be used; there may be too little memory"))
            }
        }
        TLSLibrary.endThread()
    }

    private init?(_ inbox: TransferInbox, _ security: HTTPSecurity) {
        guard TransferLoop.start == CURLE_OK, let multi = curl_multi_init() else { return nil }
        self.inbox = inbox
        self.security = security
        self.multi = multi
        ccurl_set_limit(multi, CURLMOPT_MAX_HOST_CONNECTIONS, TransferLoop.connectionsPerHost)
        ccurl_set_limit(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, TransferLoop.connections)
        ccurl_set_limit(multi, CURLMOPT_MAXCONNECTS, TransferLoop.connections)
    }

    deinit {
        // A handle must leave its multi handle before either is released (curl_multi_cleanup(3)).
        for transfer in transfers.values { curl_multi_remove_handle(multi, transfer.easy) }
        transfers = [:]
        curl_multi_cleanup(multi)
    }

    private func run(idleLimit: Duration) {
        var idleSince = ContinuousClock.now
        while true {
            for command in inbox.take() { perform(command) }
            guard !isStopping else { return stop() }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            finishEnded()
            expire()
            if !transfers.isEmpty { idleSince = .now }
            let idleEnd = idleSince + idleLimit
            if transfers.isEmpty, .now >= idleEnd, inbox.closeIfEmpty() { return }
            wait(until: transfers.values.map(\.job.deadline).min() ?? idleEnd)
        }
    }

    private func wait(until limit: ContinuousClock.Instant) {
        var signal = curl_waitfd(fd: inbox.wake.readEnd, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &signal, 1, (limit - .now).pollMilliseconds, nil)
        inbox.wake.drain()
    }

    private func perform(_ command: TransferInbox.Command) {
        switch command {
        case .start(let job): start(job)
        case .cancel(let ticket): remove(ticket)
        case .stop: isStopping = true
        }
    }

    private func start(_ job: TransferJob) {
        // The task may have been cancelled before this thread came to its command.
        guard job.answer.current == nil else { return }
        do throws(HTTPClientError) {
            let transfer = try Transfer(job, security)
            guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
                throw .noResources("libcurl refuses another transfer; there may be too little memory")
            }
            transfers[job.ticket] = transfer
            tickets[transfer.easy] = job.ticket
        } catch {
            job.answer.set(.failure(error))
        }
    }

    /// Ends a transfer, with its connection unless the response was complete.
    private func remove(_ ticket: UInt64) {
        guard let transfer = transfers.removeValue(forKey: ticket) else { return }
        tickets[transfer.easy] = nil
        // The handle must leave before the transfer releases it.
        _ = withExtendedLifetime(transfer) { curl_multi_remove_handle(multi, transfer.easy) }
    }

    private func finishEnded() {
        var code = CURLE_OK
        while let easy = ccurl_next_ended(multi, &code) {
            guard let ticket = tickets[easy], let transfer = transfers[ticket] else {
                // It would be returned again otherwise.
                curl_multi_remove_handle(multi, easy)
                continue
            }
            transfer.job.answer.set(transfer.result(code))
            remove(ticket)
        }
    }

    private func expire() {
        let now = ContinuousClock.now
        for transfer in transfers.values where transfer.job.deadline <= now {
            transfer.job.answer.set(.failure(.timeout(transfer.job.request.timeout)))
            remove(transfer.job.ticket)
        }
    }

    private func stop() {
        for transfer in transfers.values { transfer.job.answer.set(.failure(.stopped)) }
        TransferLoop.refuse(inbox.close(), .stopped)
    }

    private static func refuse(_ commands: [TransferInbox.Command], _ error: HTTPClientError) {
        for case .start(let job) in commands { job.answer.set(.failure(error)) }
    }
}
