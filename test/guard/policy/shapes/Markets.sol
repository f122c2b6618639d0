// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title A token that anyone mints: what is under test is the guard.
contract Token {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    uint8 public immutable decimals;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function burn(address from, uint256 amount) external {
        balanceOf[from] -= amount;
        emit Transfer(from, address(0), amount);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return _move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        return _move(from, to, amount);
    }

    function _move(address from, address to, uint256 amount) internal virtual returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
        return true;
    }
}

/// @title A token that keeps a hundredth of what it moves, and says that all of it arrived.
contract SkimmingToken is Token {
    constructor(uint8 decimals_) Token(decimals_) {}

    function _move(address from, address to, uint256 amount) internal override returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount * 99 / 100;
        emit Transfer(from, to, amount);
        return true;
    }
}

/// @title A token that moves and says nothing.
contract SilentToken is Token {
    constructor(uint8 decimals_) Token(decimals_) {}

    function _move(address from, address to, uint256 amount) internal override returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}

/// @title A token as those that rebase: it keeps shares, here of 1.1 each, and says what it was asked to move.
contract RebasingToken {
    mapping(address => uint256) private shares;
    mapping(address => mapping(address => uint256)) public allowance;
    uint8 public immutable decimals;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function balanceOf(address owner) external view returns (uint256) {
        return shares[owner] * 11 / 10;
    }

    function mint(address to, uint256 amount) external {
        shares[to] += amount * 10 / 11;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        return move(from, to, amount);
    }

    function move(address from, address to, uint256 amount) private returns (bool) {
        shares[from] -= amount * 10 / 11;
        shares[to] += amount * 10 / 11;
        emit Transfer(from, to, amount);
        return true;
    }
}

/// @title Prices of assets in dollars of eight decimals, all of one time.
contract DollarPrices {
    mapping(address asset => uint256 price) public getAssetPrice;
    uint64 public updatedAt;

    function set(address asset, uint256 price) external {
        getAssetPrice[asset] = price;
        updatedAt = uint64(block.timestamp);
    }
}

/// @title Lending as a pool does it: one contract for all assets, debts and deposits as tokens, health as a wad.
contract PooledMarket {
    Token public immutable loan;
    Token public immutable collateral;
    Token public immutable debt;
    Token public immutable deposits;
    DollarPrices public immutable prices;
    uint256 private constant THRESHOLD = 8000;
    uint256 private constant BONUS = 10500;
    uint256 private constant CLOSE = 5000;
    bool public isPaused;

    constructor(Token loan_, Token collateral_, Token debt_, Token deposits_, DollarPrices prices_) {
        (loan, collateral, debt, deposits, prices) = (loan_, collateral_, debt_, deposits_, prices_);
    }

    function pause(bool paused) external {
        isPaused = paused;
    }

    function open(address user, uint256 collateralAssets, uint256 debtAssets) external {
        collateral.mint(address(this), collateralAssets);
        deposits.mint(user, collateralAssets);
        debt.mint(user, debtAssets);
    }

    function getReserveConfigurationData(address)
        external
        view
        returns (uint256 decimals, uint256 ltv, uint256 liquidationThreshold, uint256 liquidationBonus)
    {
        return (collateral.decimals(), 7500, THRESHOLD, BONUS);
    }

    function getUserAccountData(address user)
        public
        view
        returns (
            uint256 totalCollateralBase,
            uint256 totalDebtBase,
            uint256 availableBorrowsBase,
            uint256 currentLiquidationThreshold,
            uint256 ltv,
            uint256 healthFactor
        )
    {
        totalCollateralBase =
            deposits.balanceOf(user) * prices.getAssetPrice(address(collateral)) / 10 ** collateral.decimals();
        totalDebtBase = debt.balanceOf(user) * prices.getAssetPrice(address(loan)) / 10 ** loan.decimals();
        healthFactor = totalDebtBase == 0
            ? type(uint256).max
            : totalCollateralBase * THRESHOLD * 1e18 / (totalDebtBase * 10000);
        return (totalCollateralBase, totalDebtBase, availableBorrowsBase, THRESHOLD, 7500, healthFactor);
    }

    function liquidationCall(
        address collateralAsset,
        address debtAsset,
        address user,
        uint256 debtToCover,
        bool receiveAToken
    ) external payable {
        (,,,,, uint256 health) = getUserAccountData(user);
        require(health < 1e18 && !isPaused, "healthy or paused");
        require(collateralAsset == address(collateral) && debtAsset == address(loan), "no such reserve");
        uint256 limit = debt.balanceOf(user) * CLOSE / 10000;
        uint256 covered = debtToCover < limit ? debtToCover : limit;
        uint256 seized = covered * prices.getAssetPrice(debtAsset) * 10 ** collateral.decimals() * BONUS
            / (prices.getAssetPrice(collateralAsset) * 10 ** loan.decimals() * 10000);
        loan.transferFrom(msg.sender, address(this), covered);
        debt.burn(user, covered);
        deposits.burn(user, seized);
        if (receiveAToken) deposits.mint(msg.sender, seized);
        else collateral.transfer(msg.sender, seized);
    }
}

/// @title A price of one base unit of collateral in base units of the loan asset, times 10 ^ 36.
contract ScaledPrice {
    uint256 public price;
    uint64 public updatedAt;

    function set(uint256 price_) external {
        price = price_;
        updatedAt = uint64(block.timestamp);
    }
}

struct MarketParams {
    address loanToken;
    address collateralToken;
    address oracle;
    address irm;
    uint256 lltv;
}

/// @title Lending as a single contract with many isolated markets does it: debts as shares, markets by the hash of their terms.
contract SingletonMarket {
    struct Position {
        uint256 supplyShares;
        uint128 borrowShares;
        uint128 collateral;
    }

    struct Totals {
        uint128 totalSupplyAssets;
        uint128 totalSupplyShares;
        uint128 totalBorrowAssets;
        uint128 totalBorrowShares;
        uint128 lastUpdate;
        uint128 fee;
    }

    mapping(bytes32 id => mapping(address user => Position)) public position;
    mapping(bytes32 id => Totals) public market;

    function idOf(MarketParams memory params) public pure returns (bytes32) {
        return keccak256(abi.encode(params));
    }

    function open(MarketParams memory params, address user, uint128 collateral, uint128 assets, uint128 shares) external {
        bytes32 id = idOf(params);
        Token(params.collateralToken).mint(address(this), collateral);
        position[id][user] = Position(0, shares, collateral);
        market[id].totalBorrowAssets += assets;
        market[id].totalBorrowShares += shares;
    }

    function liquidate(
        MarketParams memory params,
        address borrower,
        uint256 seizedAssets,
        uint256 repaidShares,
        bytes memory data
    ) external returns (uint256, uint256) {
        bytes32 id = idOf(params);
        require(data.length == 0 && (seizedAssets == 0) != (repaidShares == 0), "inconsistent");
        Totals storage totals = market[id];
        Position storage owner = position[id][borrower];
        uint256 price = ScaledPrice(params.oracle).price();
        uint256 owed = _up(uint256(owner.borrowShares) * totals.totalBorrowAssets, totals.totalBorrowShares);
        require(uint256(owner.collateral) * price / 1e36 * params.lltv / 1e18 < owed, "healthy");
        uint256 incentive = 1e36 / (1e18 - 0.3e18 * (1e18 - params.lltv) / 1e18);
        if (repaidShares == 0) {
            uint256 worth = _up(_up(seizedAssets * price, 1e36) * 1e18, incentive);
            repaidShares = _up(worth * totals.totalBorrowShares, totals.totalBorrowAssets);
        } else {
            uint256 worth = repaidShares * totals.totalBorrowAssets / totals.totalBorrowShares;
            seizedAssets = worth * incentive / 1e18 * 1e36 / price;
        }
        uint256 repaid = _up(repaidShares * totals.totalBorrowAssets, totals.totalBorrowShares);
        owner.borrowShares -= uint128(repaidShares);
        owner.collateral -= uint128(seizedAssets);
        totals.totalBorrowShares -= uint128(repaidShares);
        totals.totalBorrowAssets -= uint128(repaid);
        Token(params.collateralToken).transfer(msg.sender, seizedAssets);
        Token(params.loanToken).transferFrom(msg.sender, address(this), repaid);
        return (seizedAssets, repaid);
    }

    function _up(uint256 a, uint256 b) private pure returns (uint256) {
        return (a + b - 1) / b;
    }
}
